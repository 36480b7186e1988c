// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/depthwise/Depthwise.h"

#include "runtime/core/machine/Features.h"
#include "runtime/cpu/HalfPrecision.h"
#include "runtime/cpu/ThreadPool.h"
#include "runtime/cpu/depthwise/DepthwiseKernels.h"
#include "runtime/cpu/direct/Phases.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

using namespace ingot::runtime;
using namespace ingot::runtime::depthwise;
using namespace ingot::runtime::direct;
using ingot::abi::ConvKind;
using ingot::abi::DepthwiseBlocking;
using ingot::abi::kDepthwiseBlock;

namespace {

const depthwise::Kernels &getKernels() {
  static const depthwise::Kernels &kernels = INGOT_CHOOSE_KERNELS();
  return kernels;
}

/// Whether kernels combine so many neighbouring taps.
bool combinesTaps(int64_t taps, int64_t step) {
  bool isOdd = taps == 1 || taps == 3 || taps == 5 || taps == 7;
  return step == 1 ? isOdd || taps == 2 || taps == 4 : step == 2 && isOdd;
}

/// What a thread has of its own.
struct Room {
  int64_t *tags;
  float *rows, *others;

  Room(const DepthwiseBlocking &blocking, char *scratch, int64_t thread) {
    char *own = scratch + blocking.getThreadOffset(thread);
    tags = reinterpret_cast<int64_t *>(own);
    rows = reinterpret_cast<float *>(own + blocking.getTagBytes());
    others = rows + blocking.rows;
  }
};

/// The most rows of taps that are correlated at once.
constexpr int64_t kTapRows = 5;

/// A conflict that no distance has.
constexpr int64_t kNoConflict = int64_t(1) << 60;

void checkMemory(bool fits) {
  if (!fits)
    throw std::logic_error("a depthwise convolution needs more memory than "
                           "DepthwiseBlocking says");
}

/// Copies the filter [channel][tap] to [tap][channel].
void packFilter(const ingot_conv_desc &d, const DepthwiseBlocking &blocking,
                const void *filter, float *to) {
  int64_t taps = blocking.taps;
  std::vector<float> wide(d.type == INGOT_F32 ? 0 : d.groups * taps);
  const auto *from = static_cast<const float *>(filter);
  if (d.type != INGOT_F32) {
    widenToF32(filter, d.type, wide.data(), d.groups * taps);
    from = wide.data();
  }
  for (int64_t tap = 0; tap < taps; ++tap, to += blocking.width) {
    for (int64_t channel = 0; channel < d.groups; ++channel)
      to[channel] = from[channel * taps + tap];
    std::fill(to + d.groups, to + blocking.width, 0.0f);
  }
}

/// How a row of pixels is read: through a copy with zeros around it, or in
/// place, where only windows that reach over an edge are copied.
struct Edges {
  /// The pixels [begin, end) whose windows are inside, of `count`.
  int64_t begin, end, count;

  /// For pixels whose windows are [p * step + low, p * step + high) of columns.
  Edges(int64_t count, int64_t step, int64_t low, int64_t high, int64_t columns)
      : begin(std::clamp<int64_t>(
            ingot::abi::divideCeil(std::max<int64_t>(-low, 0), step), 0,
            count)),
        end(std::clamp<int64_t>(
            columns < high ? 0 : (columns - high) / step + 1, begin, count)),
        count(count) {}

  /// Whether copying the windows over the edges, `taps` columns each, is less
  /// work than copying the columns of the rows that a row of results adds.
  bool areFewer(int64_t taps, int64_t columns) const {
    return (count - (end - begin)) * taps < columns;
  }
  /// Calls `run` with each pixel whose window reaches over an edge.
  template <typename Run> void forEach(Run run) const {
    for (int64_t p = 0; p < begin; ++p)
      run(p);
    for (int64_t p = end; p < count; ++p)
      run(p);
  }
};

/// Copies a window of columns, `distance` apart, with zeros outside the row.
void copyWindow(const float *row, int64_t first, int64_t distance,
                int64_t columns, int64_t taps, int64_t pixelStride,
                int64_t channels, float *to, int64_t toStride) {
  for (int64_t tap = 0; tap < taps; ++tap, first += distance, to += toStride)
    if (first >= 0 && first < columns)
      std::copy_n(row + first * pixelStride, channels, to);
    else
      std::fill_n(to, channels, 0.0f);
}

//===----------------------------------------------------------------------===//
// The forward pass, and the gradient of the input
//===----------------------------------------------------------------------===//

/// Computes the pixels of a line whose windows reach over an edge. `sources`
/// are those of the first pixel that does not.
void combineEdges(const Edges &edges, const Phase &phase,
                  std::vector<const float *> &sources, int64_t columns,
                  const Room &room, Line line) {
  float *row = line.to;
  int64_t channels = line.channels;
  auto perRow = static_cast<int64_t>(phase.taps.size()) / line.taps;
  line.columnStep = channels;
  line.from = sources.data();
  const std::vector<const float *> starts = sources;
  edges.forEach([&](int64_t p) {
    for (size_t i = 0; i < starts.size(); ++i) {
      // The column of pixel 0 that the run of taps starts at.
      int64_t shift = phase.taps[i % perRow * line.taps].shift;
      const float *pixels =
          starts[i] - (edges.begin * phase.step + shift) * channels;
      float *window = room.rows + int64_t(i) * line.taps * channels;
      copyWindow(pixels, p * phase.step + shift, 1, columns, line.taps,
                 channels, channels, window, channels);
      sources[i] = window;
    }
    line.to = row + p * line.toStep;
    getKernels().combine(line);
  });
}

/// Computes the results of one phase of positions.
void combineImages(const DepthwiseBlocking &blocking, const Axes &axes,
                   const Images &from, const Images &to,
                   const Phase (&phases)[3], const float *filters,
                   char *scratch, int64_t batch) {
  int64_t channels = from.channels, columns = from.extents[2];
  Edges edges(phases[2].count, phases[2].step, phases[2].getLow(),
              phases[2].getLow() + phases[2].getReach(), columns);
  bool isWhole = blocking.width == channels;
  bool hasWindows =
      from.isPlain() && isWhole &&
      edges.areFewer(phases[0].taps.size() * phases[1].taps.size() *
                         phases[2].taps.size(),
                     columns * phases[1].step);
  RowReader reader(from, hasWindows ? 0 : phases[2].getLow(),
                   hasWindows ? columns : phases[2].getHigh(), phases[2].step,
                   channels, kNoConflict, /*canBeInPlace=*/isWhole);
  int64_t slots[2];
  for (int i = 0; i < 2; ++i)
    slots[i] = std::min(phases[i].getReach(), from.extents[i]);
  checkMemory(reader.getRowSize() * slots[0] * slots[1] + kDepthwiseBlock <=
                  blocking.rows &&
              slots[0] * slots[1] <= blocking.tags);
  const auto &inner = phases[2].taps;
  auto runTaps = static_cast<int64_t>(inner.size());
  // Neighbouring taps in the order of the filter.
  bool isRun = combinesTaps(runTaps, phases[2].step);
  for (size_t i = 1; i < inner.size(); ++i)
    isRun &= inner[i].shift == inner[i - 1].shift + 1;
  if (!isRun)
    runTaps = 1;
  // From a tap of a run to the next; in the gradient of the input, back.
  int64_t tapStep = inner.size() > 1 ? inner[1].index - inner[0].index : 1;
  int64_t rows = phases[0].count * phases[1].count;
  parallelTasks(
      batch * rows, /*grain=*/1, /*perThread=*/8,
      [&](int64_t thread, int64_t begin, int64_t end) {
        Room room(blocking, scratch, thread);
        std::vector<const float *> sources, taps;
        for (int64_t task = begin; task < end; ++task) {
          int64_t image = task / rows, d = task % rows / phases[1].count;
          int64_t h = task % phases[1].count;
          sources.clear();
          taps.clear();
          for (const Phase::Tap &outer : phases[0].taps)
            for (const Phase::Tap &middle : phases[1].taps) {
              int64_t z = d * phases[0].step + outer.shift;
              int64_t y = h * phases[1].step + middle.shift;
              if (z < 0 || z >= from.extents[0] || y < 0 ||
                  y >= from.extents[1])
                continue;
              const float *row = reader.read(
                  image, z, y, /*channel=*/0,
                  z % slots[0] * slots[1] + y % slots[1], room.rows, room.tags);
              for (size_t i = 0; i < inner.size(); i += runTaps) {
                sources.push_back(row +
                                  inner[i].shift * reader.getPixelStride());
                taps.push_back(filters +
                               ((outer.index * axes.kernel[1] + middle.index) *
                                    axes.kernel[2] +
                                inner[i].index) *
                                   blocking.width);
              }
            }
          int64_t z = phases[0].first + d * phases[0].toStep;
          int64_t y = phases[1].first + h * phases[1].toStep;
          Line line = {};
          line.rows = static_cast<int64_t>(sources.size());
          line.taps = runTaps > 0 ? runTaps : 1;
          line.step = line.taps == 1 ? 1 : phases[2].step;
          line.from = sources.data();
          line.columnStep =
              reader.getPixelStride() * (line.taps == 1 ? phases[2].step : 1);
          line.filters = taps.data();
          line.filterStep = tapStep * blocking.width;
          line.channels = channels;
          line.pixels = phases[2].count;
          line.to = room.others;
          line.toStep = channels;
          if (to.isPlain()) {
            line.to = reinterpret_cast<float *>(to.data) +
                      to.getRow(image, z, y) + phases[2].first * channels;
            line.toStep = phases[2].toStep * channels;
          }
          if (hasWindows) {
            line.to += edges.begin * line.toStep;
            line.pixels = edges.end - edges.begin;
            for (const float *&source : sources)
              source += edges.begin * phases[2].step * channels;
          }
          if (line.pixels > 0)
            getKernels().combine(line);
          if (hasWindows) {
            line.to -= edges.begin * line.toStep;
            line.pixels = 1;
            combineEdges(edges, phases[2], sources, columns, room, line);
          }
          if (!to.isPlain())
            writeRow(to, image, z, y, phases[2].first, phases[2].toStep,
                     line.pixels, 0, channels, room.others);
        }
      });
}

//===----------------------------------------------------------------------===//
// The gradient of the filter
//===----------------------------------------------------------------------===//

/// Sums over some images, for some channels.
class FilterSums {
public:
  FilterSums(const ingot_conv_desc &desc, const DepthwiseBlocking &blocking,
             const Axes &axes, const Images &input, const Images &grads);

  void sumImages(int64_t begin, int64_t end, int64_t channel, const Room &room,
                 float *sums) const;

private:
  /// Adds the products of the lines [height, height + count) of an image.
  void addLines(int64_t image, int64_t depth, int64_t height, int64_t count,
                int64_t channel, const Room &room, float *sums) const;
  void correlate(int64_t tapRow, int64_t rows,
                 const std::vector<const float *> &grads,
                 const std::vector<const float *> &inputs, int64_t channel,
                 const Room &room, float *sums) const;
  const float *readInput(int64_t image, int64_t z, int64_t y, int64_t channel,
                         const Room &room) const;

  const DepthwiseBlocking &blocking;
  const Axes &axes;
  int64_t channels;
  Edges edges;
  /// Taps that are combined.
  int64_t runTaps;
  bool hasWindows;
  RowReader reader, gradReader;
};

FilterSums::FilterSums(const ingot_conv_desc &desc,
                       const DepthwiseBlocking &blocking, const Axes &axes,
                       const Images &input, const Images &grads)
    : blocking(blocking), axes(axes), channels(desc.groups),
      edges(axes.out[2], axes.stride[2], -axes.pad[2],
            (axes.kernel[2] - 1) * axes.dilation[2] - axes.pad[2] + 1,
            axes.in[2]),
      runTaps(combinesTaps(axes.kernel[2], 1) ? axes.kernel[2] : 1),
      hasWindows(input.isPlain() && blocking.width == channels &&
                 edges.areFewer(blocking.taps, axes.in[2] * axes.stride[1]) &&
                 kTapRows * blocking.chunk * runTaps * kDepthwiseBlock <=
                     blocking.rows),
      reader(input, hasWindows ? 0 : -axes.pad[2],
             hasWindows ? axes.in[2]
                        : (axes.out[2] - 1) * axes.stride[2] - axes.pad[2] +
                              (axes.kernel[2] - 1) * axes.dilation[2] + 1,
             1, std::min(channels, kDepthwiseBlock), kNoConflict,
             /*canBeInPlace=*/blocking.width == channels),
      gradReader(grads, 0, axes.out[2], 1, std::min(channels, kDepthwiseBlock),
                 kNoConflict, /*canBeInPlace=*/blocking.width == channels) {
  checkMemory(reader.getRowSize() * blocking.slots[0] * blocking.slots[1] +
                      kDepthwiseBlock <=
                  blocking.rows &&
              gradReader.getRowSize() * blocking.chunk + kDepthwiseBlock <=
                  blocking.others);
}

const float *FilterSums::readInput(int64_t image, int64_t z, int64_t y,
                                   int64_t channel, const Room &room) const {
  int64_t slot =
      z % blocking.slots[0] * blocking.slots[1] + y % blocking.slots[1];
  return reader.read(image, z, y, channel, slot, room.rows, room.tags) -
         axes.pad[2] * reader.getPixelStride();
}

void FilterSums::correlate(int64_t tapRow, int64_t rows,
                           const std::vector<const float *> &grads,
                           const std::vector<const float *> &inputs,
                           int64_t channel, const Room &room,
                           float *sums) const {
  if (grads.empty())
    return;
  Correlation c = {};
  c.lines = static_cast<int64_t>(grads.size());
  c.rows = rows;
  c.taps = runTaps;
  c.a = grads.data();
  c.aStep = gradReader.getPixelStride();
  c.bStep = axes.stride[2] * reader.getPixelStride();
  c.tapStep = axes.dilation[2] * reader.getPixelStride();
  c.channels = std::min(channels - channel, kDepthwiseBlock);
  c.pixels = axes.out[2];
  c.sumStep = blocking.width;
  std::vector<const float *> shifted = inputs, pixels = grads;
  c.b = shifted.data();
  int64_t begin = hasWindows ? edges.begin : 0;
  for (int64_t tap = 0; tap < axes.kernel[2]; tap += runTaps) {
    for (size_t i = 0; i < inputs.size(); ++i)
      shifted[i] = inputs[i] + tap * c.tapStep + begin * c.bStep;
    for (size_t i = 0; i < grads.size(); ++i)
      pixels[i] = grads[i] + begin * c.aStep;
    c.a = pixels.data();
    c.pixels = hasWindows ? edges.end - begin : axes.out[2];
    c.sums = sums + (tapRow * axes.kernel[2] + tap) * blocking.width + channel;
    if (c.pixels > 0)
      getKernels().correlate(c);
  }
  if (!hasWindows)
    return;
  c.pixels = 1;
  c.tapStep = kDepthwiseBlock;
  int64_t step = axes.stride[2], pixelStride = reader.getPixelStride();
  edges.forEach([&](int64_t p) {
    for (int64_t tap = 0; tap < axes.kernel[2]; tap += runTaps) {
      int64_t first = tap * axes.dilation[2] - axes.pad[2];
      for (size_t i = 0; i < inputs.size(); ++i) {
        float *window = room.rows + int64_t(i) * runTaps * kDepthwiseBlock;
        copyWindow(inputs[i] + axes.pad[2] * pixelStride, p * step + first,
                   axes.dilation[2], axes.in[2], runTaps, pixelStride,
                   c.channels, window, kDepthwiseBlock);
        shifted[i] = window;
      }
      for (size_t i = 0; i < grads.size(); ++i)
        pixels[i] = grads[i] + p * c.aStep;
      c.sums =
          sums + (tapRow * axes.kernel[2] + tap) * blocking.width + channel;
      getKernels().correlate(c);
    }
  });
}

void FilterSums::addLines(int64_t image, int64_t depth, int64_t height,
                          int64_t count, int64_t channel, const Room &room,
                          float *sums) const {
  std::vector<const float *> lines(count), grads, inputs, single(1), row(1);
  for (int64_t i = 0; i < count; ++i)
    lines[i] = gradReader.read(image, depth, height + i, channel, i,
                               room.others, room.tags + blocking.tags);
  // Several rows of taps at once, of whole sums only.
  int64_t most = runTaps == axes.kernel[2] ? getKernels().mostRows[runTaps] : 1;
  auto isInside = [&](int64_t y) { return y >= 0 && y < axes.in[1]; };
  for (int64_t tapDepth = 0; tapDepth < axes.kernel[0]; ++tapDepth) {
    int64_t z =
        depth * axes.stride[0] + tapDepth * axes.dilation[0] - axes.pad[0];
    if (z < 0 || z >= axes.in[0])
      continue;
    for (int64_t tap = 0, rows; tap < axes.kernel[1]; tap += rows) {
      int64_t rest = std::min(most, axes.kernel[1] - tap);
      rows = rest >= 5 ? 5 : rest == 4 ? 3 : rest;
      auto rowOf = [&](int64_t line, int64_t r) {
        return (height + line) * axes.stride[1] + (tap + r) * axes.dilation[1] -
               axes.pad[1];
      };
      auto isWhole = [&](int64_t line) {
        return isInside(rowOf(line, 0)) && isInside(rowOf(line, rows - 1));
      };
      int64_t tapRow = tapDepth * axes.kernel[1] + tap;
      grads.clear();
      for (int64_t line = 0; line < count; ++line)
        if (isWhole(line))
          grads.push_back(lines[line]);
      inputs.clear();
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t line = 0; line < count; ++line)
          if (isWhole(line))
            inputs.push_back(
                readInput(image, z, rowOf(line, r), channel, room));
      correlate(tapRow, rows, grads, inputs, channel, room, sums);
      for (int64_t line = 0; line < count; ++line)
        for (int64_t r = 0; r < rows && !isWhole(line); ++r)
          if (isInside(rowOf(line, r))) {
            single[0] = lines[line];
            row[0] = readInput(image, z, rowOf(line, r), channel, room);
            correlate(tapRow + r, 1, single, row, channel, room, sums);
          }
    }
  }
}

void FilterSums::sumImages(int64_t begin, int64_t end, int64_t channel,
                           const Room &room, float *sums) const {
  std::fill_n(room.tags, blocking.tags + blocking.chunk, int64_t(-1));
  int64_t count = std::min(blocking.width - channel, kDepthwiseBlock);
  for (int64_t tap = 0; tap < blocking.taps; ++tap)
    std::fill_n(sums + tap * blocking.width + channel, count, 0.0f);
  for (int64_t image = begin; image < end; ++image)
    for (int64_t d = 0; d < axes.out[0]; ++d)
      for (int64_t h = 0; h < axes.out[1]; h += blocking.chunk)
        addLines(image, d, h, std::min(blocking.chunk, axes.out[1] - h),
                 channel, room, sums);
}

void correlateImages(const ingot_conv_desc &d,
                     const DepthwiseBlocking &blocking, const Axes &axes,
                     const Images &grads, const Images &input, void *filterGrad,
                     char *scratch) {
  FilterSums work(d, blocking, axes, input, grads);
  auto *sums = reinterpret_cast<float *>(scratch);
  int64_t blocks = ingot::abi::divideCeil(d.groups, kDepthwiseBlock);
  int64_t taps = blocking.taps, partSize = taps * blocking.width;
  parallelTasks(blocking.parts * blocks, /*grain=*/1, /*perThread=*/16,
                [&](int64_t thread, int64_t begin, int64_t end) {
                  Room room(blocking, scratch, thread);
                  for (int64_t task = begin; task < end; ++task) {
                    int64_t part = task / blocks;
                    work.sumImages(d.batch * part / blocking.parts,
                                   d.batch * (part + 1) / blocking.parts,
                                   task % blocks * kDepthwiseBlock, room,
                                   sums + part * partSize);
                  }
                });
  // Parts are added in order, whatever threads there are.
  parallelFor(d.groups, /*grain=*/64, [&](int64_t begin, int64_t end) {
    std::vector<float> filter(taps);
    for (int64_t channel = begin; channel < end; ++channel) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        const float *from = sums + tap * blocking.width + channel;
        filter[tap] = *from;
        for (int64_t part = 1; part < blocking.parts; ++part)
          filter[tap] += from[part * partSize];
      }
      if (d.type == INGOT_F32)
        std::copy_n(filter.data(), taps,
                    static_cast<float *>(filterGrad) + channel * taps);
      else
        roundFromF32(filter.data(),
                     static_cast<uint16_t *>(filterGrad) + channel * taps,
                     d.type, taps);
    }
  });
}

} // namespace

void ingot::runtime::convolveDepthwise(const ingot_conv_desc &d, ConvKind kind,
                                       const void *first, const void *second,
                                       void *result, char *scratch) {
  DepthwiseBlocking blocking(d, kind, getThreadCount());
  Axes axes(d);
  auto imagesOf = [&](const void *data, const int64_t *extents) {
    return Images{static_cast<char *>(const_cast<void *>(data)), d.type,
                  d.channels_last != 0, d.groups, extents};
  };
  if (kind == ConvKind::FilterGrad)
    return correlateImages(d, blocking, axes, imagesOf(first, axes.out),
                           imagesOf(second, axes.in), result, scratch);
  auto *filters = reinterpret_cast<float *>(scratch);
  packFilter(d, blocking, second, filters);
  bool isForward = kind == ConvKind::Forward;
  Images from = imagesOf(first, isForward ? axes.in : axes.out);
  Images to = imagesOf(result, isForward ? axes.out : axes.in);
  forEachPhase(axes, kind, [&](const Phase(&phases)[3]) {
    for (int64_t thread = 0; thread < getThreadCount(); ++thread)
      std::fill_n(Room(blocking, scratch, thread).tags, blocking.tags,
                  int64_t(-1));
    combineImages(blocking, axes, from, to, phases, filters, scratch, d.batch);
  });
}
