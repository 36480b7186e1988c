// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Each tap's gradient is the product of the pixels that it reads, transposed,
// and of the output's gradient. Sums over parts of the batch, which follow from
// the shape, are added in order.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/direct/DirectFilterGrad.h"

#include "runtime/cpu/direct/Panels.h"
#include "runtime/cpu/threads/ThreadPool.h"
#include "runtime/cpu/vectors/HalfPrecision.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

using namespace ingot::runtime;
using namespace ingot::runtime::direct;
using ingot::abi::divideCeil;
using ingot::cpu::DirectBlocking;

namespace {

/// The rows of a product's tiles: more than any tile has.
constexpr int64_t kRows = 1 << 10;
/// Rows that are multiplied at once.
constexpr int64_t kMostRows = ingot::cpu::kDirectGradRows;

/// Whether pixels of a panel fall into different cache sets.
bool isSpread(int64_t channels) {
  return channels * int64_t(sizeof(float)) % ingot::cpu::kDirectGradConflict !=
         0;
}

class FilterGrad {
public:
  FilterGrad(const ingot_conv_desc &desc, const Axes &axes,
             const DirectBlocking &blocking, const Images &input,
             const Images &grads);

  void run(void *filterGrad, char *scratch);

private:
  struct Room {
    int64_t *tags;
    float *rows, *grads;
  };

  Room getRoom(char *scratch, int64_t thread) const;
  /// Sums of the panels [first, last) of a group over the images [begin, end).
  void sumImages(int64_t begin, int64_t end, int64_t group, int64_t first,
                 int64_t last, const Room &room, float *sums) const;
  /// Adds the products of `count` packed rows of the gradient, from number
  /// `height` on, and of the rows of the input that they read through a row of
  /// taps.
  void multiplyTapRow(int64_t image, int64_t depth, int64_t height,
                      int64_t count, int64_t tapRow, int64_t group,
                      int64_t first, int64_t last, const Room &room,
                      float *sums) const;
  /// Packs a row of the gradient as the next one of each panel.
  void packGrads(int64_t image, int64_t depth, int64_t height, int64_t group,
                 int64_t first, int64_t last, int64_t row, float *to) const;
  /// Writes the gradient of the filters [begin, end).
  void write(void *filterGrad, const float *sums, int64_t begin,
             int64_t end) const;

  const ingot_conv_desc &desc;
  const Axes &axes;
  const DirectBlocking &blocking;
  const Images &grads;
  Units units;
  /// Whether pairs of pixels are multiplied, and how many of them, or of
  /// pixels, a row of the output has.
  bool ofPairs;
  int64_t rowLength;
  RowReader reader;
  int64_t inputs, outputs;
  PanelList panels;
  /// Panels of a task, which have at most the columns that DirectBlocking says.
  int64_t taskPanels;
  /// Columns of sums, and sums of the taps of a row.
  int64_t width, tapRowSize;
  /// Whether rows of the gradient are read where they are: panels are whole.
  bool readsGrads;
};

FilterGrad::FilterGrad(const ingot_conv_desc &desc, const Axes &axes,
                       const DirectBlocking &blocking, const Images &input,
                       const Images &grads)
    : desc(desc), axes(axes), blocking(blocking), grads(grads),
      units(desc.channels_last ? chooseUnits(desc, grads.channels / desc.groups)
                               : Units::Vectors),
      ofPairs(units != Units::Vectors),
      rowLength(ofPairs ? divideCeil(axes.out[2], 2) : axes.out[2]),
      reader((ofPairs ? RowReader::ofPairs : RowReader::ofPixels)(
          input, -axes.pad[2],
          (axes.out[2] - 1) * axes.stride[2] - axes.pad[2] +
              (axes.kernel[2] - 1) * axes.dilation[2] + 1,
          axes.stride[2], input.channels / desc.groups,
          ingot::cpu::kDirectGradConflict)),
      inputs(input.channels / desc.groups),
      outputs(grads.channels / desc.groups),
      // Pixels are transposed for each tile, which is worth most columns.
      panels(1, outputs, units == Units::Tiles ? 1 : kRows, units),
      taskPanels(units == Units::Tiles ? 2 : 4), width(panels.getColumns()),
      tapRowSize(axes.kernel[2] * inputs * width),
      readsGrads(grads.isPlain() && width == outputs &&
                 isSpread(grads.channels)) {
  if (reader.getRowSize() * blocking.slots[0] * blocking.slots[1] >
          blocking.rows ||
      axes.kernel[0] * axes.kernel[1] * tapRowSize * desc.groups *
              blocking.parts >
          blocking.filters)
    throw std::logic_error("a direct convolution needs more memory than "
                           "DirectBlocking says");
}

FilterGrad::Room FilterGrad::getRoom(char *scratch, int64_t thread) const {
  char *own = scratch + blocking.getThreadOffset(thread);
  auto *rows = reinterpret_cast<float *>(own + blocking.getTagBytes());
  return {reinterpret_cast<int64_t *>(own), rows, rows + blocking.rows};
}

void FilterGrad::packGrads(int64_t image, int64_t depth, int64_t height,
                           int64_t group, int64_t first, int64_t last,
                           int64_t row, float *to) const {
  for (int64_t i = first; i < last; ++i) {
    const Panel &panel = panels[i];
    int64_t channel = group * outputs + panel.column;
    int64_t stored = std::min(panel.width, outputs - panel.column);
    float *pixels =
        to +
        (panel.offset - panels[first].offset) * rowLength * blocking.chunk +
        row * rowLength * panel.width;
    int64_t from =
        grads.getRow(image, depth, height) + channel * grads.getChannelStride();
    if (ofPairs)
      pairPixels(grads, from, axes.out[2], stored, pixels, panel.width);
    else
      copyPixels(grads, from, axes.out[2], stored, pixels, panel.width);
    for (int64_t x = 0; stored < panel.width && x < rowLength; ++x)
      std::fill(pixels + x * panel.width + stored,
                pixels + (x + 1) * panel.width, 0.0f);
  }
}

void FilterGrad::multiplyTapRow(int64_t image, int64_t depth, int64_t height,
                                int64_t count, int64_t tapRow, int64_t group,
                                int64_t first, int64_t last, const Room &room,
                                float *sums) const {
  const Kernels &kernels = panels.getKernels();
  int64_t pixel = reader.getPixelStride(), columns = rowLength;
  // Pixels of neighbouring taps are one row of elements.
  bool isContiguous = pixel == inputs && axes.dilation[2] == 1;
  int64_t runs = isContiguous ? 1 : axes.kernel[2];
  int64_t size = axes.kernel[2] / runs * inputs;
  const float *rows[kMostRows], *packed[kMostRows];
  int64_t places[kMostRows];
  Tile tile = {};
  tile.a = rows;
  tile.b = packed;
  tile.aStep = (ofPairs ? 2 : 1) * axes.stride[2] * pixel;
  tile.cStep = width;
  tile.adds = true;
  int64_t z = depth * axes.stride[0] +
              tapRow / axes.kernel[1] * axes.dilation[0] - axes.pad[0];
  for (int64_t row = 0; row < count; ++row) {
    int64_t y = (height + row) * axes.stride[1] +
                tapRow % axes.kernel[1] * axes.dilation[1] - axes.pad[1];
    if (z < 0 || z >= axes.in[0] || y < 0 || y >= axes.in[1])
      continue;
    int64_t slot =
        z % blocking.slots[0] * blocking.slots[1] + y % blocking.slots[1];
    places[tile.segments] = row * columns;
    // From the first pixel on that is read, of the first tap.
    rows[tile.segments++] =
        reader.read(image, z, y, group * inputs, slot, room.rows, room.tags) -
        axes.pad[2] * pixel;
  }
  if (tile.segments == 0)
    return;
  const float *pixels = room.grads;
  if (readsGrads)
    pixels = reinterpret_cast<const float *>(grads.data) +
             grads.getRow(image, depth, height) + group * outputs;
  int64_t steps = divideCeil(columns, ingot::cpu::kDirectColumns);
  for (int64_t step = 0; step < steps; ++step) {
    int64_t x = columns * step / steps;
    tile.length = columns * (step + 1) / steps - x;
    for (int64_t i = first; i < last; ++i) {
      const Panel &panel = panels[i];
      tile.vectors = panel.vectors;
      tile.columns = panel.width;
      tile.bStep = readsGrads ? grads.channels : panel.width;
      int64_t offset = readsGrads ? panel.column
                                  : (panel.offset - panels[first].offset) *
                                        columns * blocking.chunk;
      for (int64_t row = 0; row < tile.segments; ++row)
        packed[row] = pixels + offset + (places[row] + x) * tile.bStep;
      int64_t tiles = divideCeil(size, kernels.mostRows[panel.vectors]);
      for (int64_t run = 0; run < runs; ++run)
        for (int64_t t = 0; t < tiles; ++t) {
          int64_t row = size * t / tiles;
          tile.rows = size * (t + 1) / tiles - row;
          tile.aOffset = x * tile.aStep + run * axes.dilation[2] * pixel + row;
          tile.c = sums + (run * size + row) * width + panel.offset;
          kernels.multiplyColumns(tile);
        }
    }
  }
}

void FilterGrad::sumImages(int64_t begin, int64_t end, int64_t group,
                           int64_t first, int64_t last, const Room &room,
                           float *sums) const {
  int64_t tapRows = axes.kernel[0] * axes.kernel[1];
  std::fill_n(room.tags, blocking.tags, int64_t(-1));
  const Panel &lastPanel = panels[last - 1];
  for (int64_t tapRow = 0; tapRow < tapRows; ++tapRow)
    for (int64_t row = 0; row < axes.kernel[2] * inputs; ++row) {
      float *line =
          sums + (tapRow * desc.groups + group) * tapRowSize + row * width;
      std::fill(line + panels[first].offset,
                line + lastPanel.offset + lastPanel.width, 0.0f);
    }
  for (int64_t image = begin; image < end; ++image)
    for (int64_t d = 0; d < axes.out[0]; ++d)
      for (int64_t h = 0; h < axes.out[1]; h += blocking.chunk) {
        int64_t count = std::min(blocking.chunk, axes.out[1] - h);
        for (int64_t row = 0; row < count && !readsGrads; ++row)
          packGrads(image, d, h + row, group, first, last, row, room.grads);
        for (int64_t tapRow = 0; tapRow < tapRows; ++tapRow)
          multiplyTapRow(image, d, h, count, tapRow, group, first, last, room,
                         sums + (tapRow * desc.groups + group) * tapRowSize);
      }
}

void FilterGrad::write(void *filterGrad, const float *sums, int64_t begin,
                       int64_t end) const {
  int64_t taps = axes.kernel[0] * axes.kernel[1] * axes.kernel[2];
  int64_t size = inputs * taps;
  // Sums of neighbouring outputs are read together.
  constexpr int64_t most = 16;
  std::vector<float> lines(most * size);
  for (int64_t out = begin; out < end;) {
    int64_t group = out / outputs, column = out % outputs;
    int64_t count = std::min({most, end - out, outputs - column});
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t in = 0; in < inputs; ++in) {
        const float *from =
            sums + (tap / axes.kernel[2] * desc.groups + group) * tapRowSize +
            (tap % axes.kernel[2] * inputs + in) * width + column;
        float *to =
            lines.data() +
            (desc.filter_channels_last ? tap * inputs + in : in * taps + tap);
        for (int64_t i = 0; i < count; ++i)
          to[i * size] = from[i];
      }
    if (desc.type == INGOT_F32)
      std::copy_n(lines.data(), count * size,
                  static_cast<float *>(filterGrad) + out * size);
    else
      roundFromF32(lines.data(),
                   static_cast<uint16_t *>(filterGrad) + out * size, desc.type,
                   count * size);
    out += count;
  }
}

void FilterGrad::run(void *filterGrad, char *scratch) {
  auto *sums = reinterpret_cast<float *>(scratch);
  int64_t tapRows = axes.kernel[0] * axes.kernel[1], groups = desc.groups;
  int64_t blocks = divideCeil(panels.size(), taskPanels);
  int64_t perPart = groups * blocks;
  int64_t partSize = tapRows * groups * tapRowSize;
  parallelTasks(blocking.parts * perPart, /*grain=*/1, /*perThread=*/16,
                [&](int64_t thread, int64_t begin, int64_t end) {
                  Room room = getRoom(scratch, thread);
                  for (int64_t task = begin; task < end; ++task) {
                    int64_t part = task / perPart,
                            first = task % blocks * taskPanels;
                    sumImages(desc.batch * part / blocking.parts,
                              desc.batch * (part + 1) / blocking.parts,
                              task / blocks % groups, first,
                              std::min(first + taskPanels, panels.size()), room,
                              sums + part * partSize);
                  }
                });
  parallelFor(partSize, /*grain=*/1 << 12, [&](int64_t begin, int64_t end) {
    for (int64_t part = 1; part < blocking.parts; ++part)
      for (int64_t i = begin; i < end; ++i)
        sums[i] += sums[part * partSize + i];
  });
  parallelFor(desc.out_channels, /*grain=*/16, [&](int64_t begin, int64_t end) {
    write(filterGrad, sums, begin, end);
  });
}

} // namespace

bool ingot::runtime::direct::isFastFilterGrad(const ingot_conv_desc &desc) {
  constexpr int64_t lanes = 16, most = 128;
  PanelList panels(1, desc.out_channels, kRows, Units::Vectors);
  return desc.groups == 1 && panels.getLanes() == lanes &&
         panels.getColumns() == desc.out_channels &&
         isSpread(desc.out_channels) &&
         std::min(desc.in_channels, desc.out_channels) < most;
}

void ingot::runtime::direct::convolveFilterGradDirect(
    const ingot_conv_desc &desc, const Axes &axes,
    const DirectBlocking &blocking, const void *outputGrad, const void *input,
    void *filterGrad, char *scratch) {
  auto imagesOf = [&](const void *data, int64_t channels,
                      const int64_t *extents) {
    return Images{static_cast<char *>(const_cast<void *>(data)),
                  desc.batch,
                  desc.type,
                  desc.channels_last != 0,
                  channels,
                  extents};
  };
  Images inputs = imagesOf(input, desc.in_channels, axes.in);
  Images grads = imagesOf(outputGrad, desc.out_channels, axes.out);
  FilterGrad(desc, axes, blocking, inputs, grads).run(filterGrad, scratch);
}
