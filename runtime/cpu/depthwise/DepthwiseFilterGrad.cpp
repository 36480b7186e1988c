// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Sums over parts of the batch, which follow from the shape, are added in
// order.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/depthwise/DepthwiseFilterGrad.h"

#include "runtime/cpu/depthwise/DepthwiseRows.h"
#include "runtime/cpu/threads/ThreadPool.h"
#include "runtime/cpu/vectors/HalfPrecision.h"

#include <algorithm>
#include <vector>

using namespace ingot::runtime;
using namespace ingot::runtime::depthwise;
using namespace ingot::runtime::direct;
using ingot::cpu::DepthwiseBlocking;
using ingot::cpu::kDepthwiseBlock;

namespace {

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
                 float *sums) const;
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
    : blocking(blocking), axes(axes), channels(desc.in_channels),
      edges(axes.out[2], axes.stride[2], -axes.pad[2],
            (axes.kernel[2] - 1) * axes.dilation[2] - axes.pad[2] + 1,
            axes.in[2]),
      runTaps(combinesTaps(axes.kernel[2], 1, blocking.inputs) ? axes.kernel[2]
                                                               : 1),
      hasWindows(input.isPlain() && areWhole(channels) &&
                 edges.areFewer(blocking.taps, axes.in[2] * axes.stride[1])),
      reader(input, hasWindows ? 0 : -axes.pad[2],
             hasWindows ? axes.in[2]
                        : (axes.out[2] - 1) * axes.stride[2] - axes.pad[2] +
                              (axes.kernel[2] - 1) * axes.dilation[2] + 1,
             1, std::min(channels, kDepthwiseBlock), kNoConflict,
             /*canBeInPlace=*/areWhole(channels)),
      gradReader(grads, 0, axes.out[2], 1, std::min(channels, kDepthwiseBlock),
                 kNoConflict, /*canBeInPlace=*/areWhole(channels)) {
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
                           int64_t channel, float *sums) const {
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
  c.inputs = blocking.inputs;
  c.inputStep = blocking.width;
  c.sumStep = blocking.inputs * blocking.width;
  c.rowStep = runTaps * c.sumStep;
  const depthwise::Kernels &kernels = getKernels(channels);
  auto *run = c.inputs == 1 ? kernels.correlate : kernels.correlateGroups;
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
    c.sums = sums + (tapRow * axes.kernel[2] + tap) * c.sumStep + channel;
    if (c.pixels > 0)
      run(c);
  }
  if (!hasWindows)
    return;
  c.pixels = 1;
  edges.forEach([&](int64_t p) {
    for (size_t i = 0; i < grads.size(); ++i)
      pixels[i] = grads[i] + p * c.aStep;
    for (int64_t tap = 0; tap < axes.kernel[2]; tap += runTaps) {
      TapsInside inside(p * axes.stride[2] + tap * axes.dilation[2] -
                            axes.pad[2],
                        axes.dilation[2], runTaps, axes.in[2]);
      c.taps = inside.end - inside.begin;
      if (c.taps == 0)
        continue;
      int64_t first = tap + inside.begin;
      for (size_t i = 0; i < inputs.size(); ++i)
        shifted[i] = inputs[i] + first * c.tapStep + p * c.bStep;
      c.sums = sums + (tapRow * axes.kernel[2] + first) * c.sumStep + channel;
      run(c);
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
  bool hasRows = runTaps == axes.kernel[2] && blocking.inputs == 1;
  int64_t most = hasRows ? getKernels(channels).mostRows[runTaps] : 1;
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
      correlate(tapRow, rows, grads, inputs, channel, sums);
      for (int64_t line = 0; line < count; ++line)
        for (int64_t r = 0; r < rows && !isWhole(line); ++r)
          if (isInside(rowOf(line, r))) {
            single[0] = lines[line];
            row[0] = readInput(image, z, rowOf(line, r), channel, room);
            correlate(tapRow + r, 1, single, row, channel, sums);
          }
    }
  }
}

void FilterSums::sumImages(int64_t begin, int64_t end, int64_t channel,
                           const Room &room, float *sums) const {
  std::fill_n(room.tags, blocking.tags + blocking.chunk, int64_t(-1));
  int64_t count = std::min(blocking.width - channel, kDepthwiseBlock);
  for (int64_t row = 0; row < blocking.taps * blocking.inputs; ++row)
    std::fill_n(sums + row * blocking.width + channel, count, 0.0f);
  for (int64_t image = begin; image < end; ++image)
    for (int64_t d = 0; d < axes.out[0]; ++d)
      for (int64_t h = 0; h < axes.out[1]; h += blocking.chunk)
        addLines(image, d, h, std::min(blocking.chunk, axes.out[1] - h),
                 channel, room, sums);
}

} // namespace

void ingot::runtime::depthwise::correlateImages(
    const ingot_conv_desc &d, const DepthwiseBlocking &blocking,
    const Axes &axes, const Images &grads, const Images &input,
    void *filterGrad, char *scratch) {
  FilterSums work(d, blocking, axes, input, grads);
  auto *sums = reinterpret_cast<float *>(scratch);
  int64_t blocks = ingot::abi::divideCeil(d.in_channels, kDepthwiseBlock);
  int64_t rows = blocking.taps * blocking.inputs;
  int64_t partSize = rows * blocking.width;
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
  parallelFor(d.in_channels, /*grain=*/64, [&](int64_t begin, int64_t end) {
    std::vector<float> filter(rows);
    for (int64_t channel = begin; channel < end; ++channel) {
      for (int64_t row = 0; row < rows; ++row) {
        const float *from = sums + row * blocking.width + channel;
        float &sum = filter[getFilterIndex(
            d, blocking, 0, row % blocking.inputs, row / blocking.inputs)];
        sum = *from;
        for (int64_t part = 1; part < blocking.parts; ++part)
          sum += from[part * partSize];
      }
      if (d.type == INGOT_F32)
        std::copy_n(filter.data(), rows,
                    static_cast<float *>(filterGrad) + channel * rows);
      else
        roundFromF32(filter.data(),
                     static_cast<uint16_t *>(filterGrad) + channel * rows,
                     d.type, rows);
    }
  });
}
