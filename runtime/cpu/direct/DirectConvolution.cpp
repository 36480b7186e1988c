// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The forward pass, and the gradient of the input: the same product, in which
// the gradient of a convolution with strides has a part for each phase of its
// positions.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/direct/DirectConvolution.h"

#include "runtime/cpu/direct/DirectFilterGrad.h"
#include "runtime/cpu/direct/Panels.h"
#include "runtime/cpu/direct/Phases.h"
#include "runtime/cpu/direct/PixelRows.h"
#include "runtime/cpu/threads/ThreadPool.h"
#include "runtime/cpu/vectors/HalfPrecision.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <vector>

using namespace ingot::runtime;
using namespace ingot::runtime::direct;
using ingot::cpu::ConvKind;
using ingot::cpu::DirectBlocking;

namespace {

/// Where the filter of an output and an input is, in elements.
struct FilterStrides {
  int64_t group, row, column, tap;
};

/// One phase of the product.
class Product {
public:
  /// Where units multiply pairs of channels in bf16, `from` has pairs as
  /// elements, or an odd number of channels.
  Product(const ingot_conv_desc &desc, const DirectBlocking &blocking,
          const Images &from, Units units, const Images &to,
          const Phase (&phases)[3]);

  void run(ConvKind kind, const char *filter, char *scratch);

private:
  /// The scratch memory of a thread.
  struct Room {
    int64_t *tags;
    float *rows, *results;
  };
  /// Segments of sums, and where the packed filters of each begin, for panels
  /// of 1, 2 and 4 vectors.
  struct Segments {
    std::vector<const float *> rows, panels[5];
  };

  /// A row of results: in f32, or rounded as sums are complete.
  struct Results {
    float *sums;
    uint16_t *rounded;
    /// Elements from one result to the next.
    int64_t step;

    Results operator+(int64_t count) const {
      return {sums ? sums + count : nullptr,
              rounded ? rounded + count : nullptr, step};
    }
  };

  Room getRoom(char *scratch, int64_t thread) const;
  template <typename Element>
  void pack(const Element *filter, const FilterStrides &strides,
            const Panel &panel, float *to) const;
  void findSegments(int64_t image, int64_t depth, int64_t height,
                    const Room &room, Segments &segments) const;
  void multiplyRow(int64_t first, int64_t last, int64_t firstColumn,
                   int64_t columns, const Segments &segments,
                   const Results &results, int64_t firstChannel) const;
  void multiplyPanel(const Panel &panel, int64_t firstColumn, int64_t columns,
                     const Segments &segments, const Results &results,
                     int64_t firstChannel) const;

  const ingot_conv_desc &desc;
  const DirectBlocking &blocking;
  const Images &from, &to;
  bool ofPairs;
  const Phase (&phases)[3];
  /// Whether the last pair of channels has a zero.
  bool isPadded;
  RowReader reader;
  /// The sizes of a group: elements that are summed for each tap, and results.
  int64_t depth, columns;
  PanelList panels;
  const float *packed = nullptr;
  /// Elements of a segment, of those of a tap or of all taps of a row, and how
  /// many segments are summed before they are added to the result.
  int64_t taps, runTaps, runLength, piece, together;
  /// Whether results are stored past the caches, and whether they are rounded
  /// at once.
  bool streams, rounds;
  int64_t slots[2];
};

Product::Product(const ingot_conv_desc &desc, const DirectBlocking &blocking,
                 const Images &from, Units units, const Images &to,
                 const Phase (&phases)[3])
    : desc(desc), blocking(blocking), from(from), to(to),
      ofPairs(units != Units::Vectors), phases(phases),
      isPadded(ofPairs && from.type == INGOT_BF16),
      reader(isPadded ? RowReader::ofPaddedChannels(
                            from, phases[2].getLow(), phases[2].getHigh(),
                            phases[2].step, ingot::cpu::kDirectConflict)
                      : RowReader(from, phases[2].getLow(), phases[2].getHigh(),
                                  phases[2].step, from.channels,
                                  ingot::cpu::kDirectConflict)),
      depth(isPadded ? ingot::abi::divideCeil(from.channels, 2)
                     : from.channels / desc.groups),
      columns(to.channels / desc.groups),
      panels(desc.groups, columns, phases[2].count, units) {
  const auto &inner = phases[2].taps;
  taps = phases[0].taps.size() * phases[1].taps.size() * inner.size();
  // Pixels of neighbouring taps are one row of elements.
  bool isContiguous = reader.getPixelStride() == depth;
  for (size_t i = 1; i < inner.size(); ++i)
    isContiguous &= inner[i].shift == inner[i - 1].shift + 1;
  int64_t all = static_cast<int64_t>(inner.size()) * depth;
  isContiguous &= all <= ingot::cpu::kDirectDepth;
  runTaps = isContiguous ? static_cast<int64_t>(inner.size()) : 1;
  runLength = runTaps * depth;
  int64_t pieces = ingot::abi::divideCeil(runLength, ingot::cpu::kDirectDepth);
  piece = ingot::abi::divideCeil(runLength, std::max<int64_t>(pieces, 1));
  together = std::max<int64_t>(
      ingot::cpu::kDirectDepth / std::max<int64_t>(piece, 1), 1);
  bool isWhole = piece == runLength && taps <= runTaps * together;
  streams = isWhole && to.isStreamed() && columns % kLineFloats == 0;
  rounds = isWhole && ofPairs && to.channelsLast;
  for (int i = 0; i < 2; ++i)
    slots[i] = std::min(phases[i].getReach(), from.extents[i]);
  if (reader.getRowSize() * slots[0] * slots[1] > blocking.rows ||
      slots[0] * slots[1] > blocking.tags ||
      panels.getColumns() * taps * depth > blocking.filters)
    throw std::logic_error("a direct convolution needs more memory than "
                           "DirectBlocking says");
}

Product::Room Product::getRoom(char *scratch, int64_t thread) const {
  char *own = scratch + blocking.getThreadOffset(thread);
  auto *rows = reinterpret_cast<float *>(own + blocking.getTagBytes());
  return {reinterpret_cast<int64_t *>(own), rows, rows + blocking.rows};
}

template <typename Element>
void Product::pack(const Element *filter, const FilterStrides &strides,
                   const Panel &panel, float *to) const {
  std::vector<int64_t> offsets;
  offsets.reserve(taps);
  int64_t height =
      desc.spatial_rank > 1 ? desc.kernel[desc.spatial_rank - 2] : 1;
  int64_t width = desc.kernel[desc.spatial_rank - 1];
  for (const Phase::Tap &d : phases[0].taps)
    for (const Phase::Tap &h : phases[1].taps)
      for (const Phase::Tap &w : phases[2].taps)
        offsets.push_back(((d.index * height + h.index) * width + w.index) *
                          strides.tap);
  int64_t stored = std::min(panel.width, columns - panel.column);
  const Element *first =
      filter + panel.group * strides.group + panel.column * strides.column;
  int64_t tapSize = depth * panel.width;
  for (int64_t row = 0; row < depth; ++row) {
    const Element *at = first + (ofPairs ? 2 : 1) * row * strides.row;
    float *line = to + row * panel.width;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const Element *element = at + offsets[tap];
      float *target = line + tap * tapSize;
      if constexpr (sizeof(Element) == sizeof(float)) {
        for (int64_t j = 0; j < stored; ++j)
          target[j] = element[j * strides.column];
      } else {
        uint16_t halves[2][64];
        bool isAlone = !ofPairs || (isPadded && row + 1 == depth);
        for (int64_t i = 0; i < (isAlone ? 1 : 2); ++i)
          for (int64_t j = 0; j < stored; ++j)
            halves[i][j] = element[i * strides.row + j * strides.column];
        if (ofPairs)
          pairElements(halves[0], isAlone ? nullptr : halves[1], target,
                       stored);
        else
          widenToF32(halves[0], desc.type, target, stored);
      }
      std::fill(target + stored, target + panel.width, 0.0f);
    }
  }
}

void Product::findSegments(int64_t image, int64_t d, int64_t h,
                           const Room &room, Segments &segments) const {
  segments.rows.clear();
  for (auto &list : segments.panels)
    list.clear();
  int64_t stride = reader.getPixelStride(), tap = 0;
  const auto &inner = phases[2].taps;
  for (const Phase::Tap &outer : phases[0].taps)
    for (const Phase::Tap &middle : phases[1].taps) {
      int64_t z = d * phases[0].step + outer.shift;
      int64_t y = h * phases[1].step + middle.shift;
      bool isInside =
          z >= 0 && z < from.extents[0] && y >= 0 && y < from.extents[1];
      const float *row = nullptr;
      if (isInside)
        row = reader.read(image, z, y, /*channel=*/0,
                          z % slots[0] * slots[1] + y % slots[1], room.rows,
                          room.tags);
      for (size_t i = 0; i < inner.size(); i += runTaps, tap += runTaps) {
        if (!isInside)
          continue;
        segments.rows.push_back(row + inner[i].shift * stride);
        for (int64_t vectors : {1, 2, 4})
          segments.panels[vectors].push_back(packed + tap * depth * vectors *
                                                          panels.getLanes());
      }
    }
}

/// Computes `count` pixels of a row of results from `firstColumn` on, for the
/// panels [first, last).
void Product::multiplyRow(int64_t first, int64_t last, int64_t firstColumn,
                          int64_t count, const Segments &segments,
                          const Results &results, int64_t firstChannel) const {
  // Where filters stay in the L1 cache, few pixels are computed at a time, so
  // that results are written along memory.
  const Panel &end = panels[last - 1];
  int64_t filters = (end.offset + end.width - panels[first].offset) * taps *
                    depth * int64_t(sizeof(float));
  int64_t piece = filters <= ingot::cpu::kL1Bytes
                      ? 2 * panels.getKernels().mostRows[2]
                      : count;
  for (int64_t x = 0; x < count; x += piece)
    for (int64_t i = first; i < last; ++i)
      multiplyPanel(panels[i], firstColumn + x, std::min(piece, count - x),
                    segments, results + x * results.step, firstChannel);
}

void Product::multiplyPanel(const Panel &panel, int64_t firstColumn,
                            int64_t count, const Segments &segments,
                            const Results &results,
                            int64_t firstChannel) const {
  const Kernels &kernels = panels.getKernels();
  int64_t pixel = phases[2].step * reader.getPixelStride();
  auto total = static_cast<int64_t>(segments.rows.size());
  int64_t tiles =
      ingot::abi::divideCeil(count, kernels.mostRows[panel.vectors]);
  Tile tile = {};
  tile.aStep = pixel;
  tile.cStep = results.step;
  tile.vectors = panel.vectors;
  tile.columns = std::min(panel.width, columns - panel.column);
  int64_t channel = panel.group * columns + panel.column - firstChannel;
  for (int64_t t = 0; t < tiles; ++t) {
    int64_t begin = count * t / tiles, end = count * (t + 1) / tiles;
    tile.rows = end - begin;
    Results first = results + (begin * results.step + channel);
    tile.c = first.sums;
    tile.rounded = first.rounded;
    tile.adds = false;
    tile.streams = streams;
    int64_t at = (firstColumn + begin) * pixel + panel.group * depth;
    for (int64_t offset = 0; offset < runLength || !tile.adds;
         offset += piece) {
      tile.length = std::min(piece, runLength - offset);
      tile.aOffset = at + offset;
      tile.bOffset = panel.offset * taps * depth + offset * panel.width;
      int64_t segment = 0;
      do {
        tile.segments = std::min(together, total - segment);
        tile.a = segments.rows.data() + segment;
        tile.b = segments.panels[panel.vectors].data() + segment;
        kernels.multiplyRows(tile);
        tile.adds = true;
        segment += tile.segments;
      } while (segment < total);
      if (total == 0)
        break;
    }
  }
}

void Product::run(ConvKind kind, const char *filter, char *scratch) {
  int64_t all = 1;
  for (int64_t i = 0; i < desc.spatial_rank; ++i)
    all *= desc.kernel[i];
  int64_t inputs = desc.in_channels / desc.groups;
  int64_t outputs = desc.out_channels / desc.groups;
  int64_t input = desc.filter_channels_last ? 1 : all;
  FilterStrides strides = {outputs * inputs * all, input, inputs * all,
                           desc.filter_channels_last ? inputs : 1};
  if (kind == ConvKind::InputGrad)
    std::swap(strides.row, strides.column);
  auto *filters = reinterpret_cast<float *>(scratch);
  packed = filters;
  parallelFor(panels.size(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float *to = filters + panels[i].offset * taps * depth;
      if (desc.type == INGOT_F32)
        pack(reinterpret_cast<const float *>(filter), strides, panels[i], to);
      else
        pack(reinterpret_cast<const uint16_t *>(filter), strides, panels[i],
             to);
    }
  });
  for (int64_t thread = 0; thread < getThreadCount(); ++thread)
    std::fill_n(getRoom(scratch, thread).tags, blocking.tags, int64_t(-1));

  // Packed filters of a block of panels stay in the cache.
  constexpr int64_t mostColumns = ingot::cpu::kDirectColumns;
  int64_t width = phases[2].count;
  int64_t parts = ingot::abi::divideCeil(width, mostColumns);
  int64_t rows = desc.batch * phases[0].count * phases[1].count;
  for (int64_t first = 0; first < panels.size();) {
    int64_t last = first + 1;
    while (last < panels.size() &&
           (panels[last].offset + panels[last].width - panels[first].offset) *
                   taps * depth <=
               ingot::cpu::kDirectFilters)
      ++last;
    int64_t firstChannel = panels[first].group * columns + panels[first].column;
    const Panel &end = panels[last - 1];
    int64_t lastChannel =
        end.group * columns + std::min(columns, end.column + end.width);
    parallelTasks(
        rows * parts, /*grain=*/1, /*perThread=*/8,
        [&](int64_t thread, int64_t beginTask, int64_t endTask) {
          Room room = getRoom(scratch, thread);
          Segments segments;
          int64_t known = -1;
          for (int64_t task = beginTask; task < endTask; ++task) {
            int64_t row = task / parts, part = task % parts;
            int64_t h = row % phases[1].count;
            int64_t d = row / phases[1].count % phases[0].count;
            int64_t image = row / phases[1].count / phases[0].count;
            if (row != known)
              findSegments(image, d, h, room, segments);
            known = row;
            int64_t x = width * part / parts;
            int64_t count = width * (part + 1) / parts - x;
            int64_t z = phases[0].first + d * phases[0].toStep;
            int64_t y = phases[1].first + h * phases[1].toStep;
            int64_t toX = phases[2].first + x * phases[2].toStep;
            if (to.isPlain() || rounds) {
              Results results = {
                  rounds ? nullptr : reinterpret_cast<float *>(to.data),
                  rounds ? reinterpret_cast<uint16_t *>(to.data) : nullptr,
                  phases[2].toStep * to.channels};
              multiplyRow(first, last, x, count, segments,
                          results + (to.getRow(image, z, y) +
                                     toX * to.channels + firstChannel),
                          firstChannel);
              continue;
            }
            multiplyRow(first, last, x, count, segments,
                        {room.results, nullptr, lastChannel - firstChannel},
                        firstChannel);
            writeRow(to, image, z, y, toX, phases[2].toStep, count,
                     firstChannel, lastChannel, room.results);
          }
          // What is stored past the caches is then seen by all.
          if (streams)
            std::atomic_thread_fence(std::memory_order_seq_cst);
        });
    first = last;
  }
}

} // namespace

void ingot::runtime::convolveDirect(const ingot_conv_desc &desc, ConvKind kind,
                                    const void *first, const void *second,
                                    void *result, char *scratch) {
  DirectBlocking blocking(desc, kind, getThreadCount());
  Axes axes(desc);
  if (kind == ConvKind::FilterGrad)
    return convolveFilterGradDirect(desc, axes, blocking, first, second, result,
                                    scratch);
  bool isForward = kind == ConvKind::Forward;
  auto bytesOf = [](const void *data) {
    return static_cast<char *>(const_cast<void *>(data));
  };
  bool isLast = desc.channels_last;
  Images inputs = {bytesOf(isForward ? first : result),
                   desc.batch,
                   desc.type,
                   isLast,
                   desc.in_channels,
                   axes.in};
  Images outputs = {bytesOf(isForward ? result : first),
                    desc.batch,
                    desc.type,
                    isLast,
                    desc.out_channels,
                    axes.out};
  Images from = isForward ? inputs : outputs, to = isForward ? outputs : inputs;
  bool isEven = from.channels / desc.groups % 2 == 0;
  Units units = isLast && (isEven || desc.groups == 1)
                    ? chooseUnits(desc, to.channels / desc.groups)
                    : Units::Vectors;
  if (units != Units::Vectors && isEven) {
    from.type = INGOT_F32;
    from.channels /= 2;
  }
  forEachPhase(axes, kind, [&](const Phase(&phases)[3]) {
    Product(desc, blocking, from, units, to, phases)
        .run(kind, static_cast<const char *>(second), scratch);
  });
}
