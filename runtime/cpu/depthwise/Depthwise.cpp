// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/depthwise/Depthwise.h"

#include "runtime/core/machine/Features.h"
#include "runtime/cpu/ThreadPool.h"
#include "runtime/cpu/depthwise/DepthwiseKernels.h"

#include <algorithm>

using namespace ingot::runtime;
using namespace ingot::runtime::depthwise;
using ingot::abi::ConvKind;

namespace {

const Kernels &getKernels() {
  static const Kernels &kernels = INGOT_CHOOSE_KERNELS();
  return kernels;
}

/// The most taps of a filter (abi::isDepthwise).
constexpr int64_t kMostTaps = ingot::abi::kDepthwiseTaps;

/// Copies the filter [channel][tap] to [tap][channel].
void moveTapsOut(const ingot_conv_desc &d, int64_t taps, const float *filter,
                 float *to) {
  for (int64_t channel = 0; channel < d.in_channels; ++channel)
    for (int64_t tap = 0; tap < taps; ++tap)
      to[tap * d.in_channels + channel] = filter[channel * taps + tap];
}

/// The taps on an axis that positions of `to` have, by the position that each
/// reads in `from`.
struct Taps {
  int64_t count = 0;
  int64_t tap[kMostTaps], at[kMostTaps];

  /// Whether `other` has the same taps.
  bool hasTapsOf(const Taps &other) const {
    return count == other.count && std::equal(tap, tap + count, other.tap);
  }
};

/// How positions of `to` read `from`.
struct Reading {
  /// Finds the taps of a position on an axis.
  Taps (*find)(const ingot_conv_desc &d, int64_t axis, int64_t position);
  const int64_t *fromSize, *toSize;
  /// Columns of `to` that are toStep apart read columns that are fromStep
  /// apart.
  int64_t fromStep, toStep;
};

Taps findInputs(const ingot_conv_desc &d, int64_t axis, int64_t position) {
  Taps taps;
  for (int64_t i = 0; i < d.kernel[axis]; ++i) {
    int64_t at =
        position * d.stride[axis] + i * d.dilation[axis] - d.pad_low[axis];
    if (at < 0 || at >= d.in[axis])
      continue;
    taps.tap[taps.count] = i;
    taps.at[taps.count++] = at;
  }
  return taps;
}

Taps findOutputs(const ingot_conv_desc &d, int64_t axis, int64_t position) {
  Taps taps;
  for (int64_t i = 0; i < d.kernel[axis]; ++i) {
    int64_t at = position + d.pad_low[axis] - i * d.dilation[axis];
    if (at < 0 || at % d.stride[axis] != 0 ||
        at / d.stride[axis] >= d.out[axis])
      continue;
    taps.tap[taps.count] = i;
    taps.at[taps.count++] = at / d.stride[axis];
  }
  return taps;
}

/// Computes a line of `to`: for each phase of its columns kPixels at a time
/// where they have the same taps.
void combineLine(const ingot_conv_desc &d, const Reading &reading,
                 const Taps &lines, const float *from, const float *filter,
                 float *to) {
  const Kernels &kernels = getKernels();
  int64_t channels = d.in_channels, width = reading.toSize[1];
  int64_t fromStep = reading.fromStep * channels;
  int64_t toStep = reading.toStep * channels;
  for (int64_t phase = 0; phase < std::min(reading.toStep, width); ++phase)
    for (int64_t x = phase; x < width;) {
      Taps columns = reading.find(d, 1, x);
      int64_t last = x + (kPixels - 1) * reading.toStep;
      bool areAlike =
          last < width && reading.find(d, 1, last).hasTapsOf(columns);
      int64_t pixels = areAlike ? kPixels : 1, count = 0;
      const float *rows[kMostTaps], *filters[kMostTaps];
      for (int64_t i = 0; i < lines.count; ++i)
        for (int64_t j = 0; j < columns.count; ++j) {
          rows[count] =
              from +
              (lines.at[i] * reading.fromSize[1] + columns.at[j]) * channels;
          filters[count++] =
              filter + (lines.tap[i] * d.kernel[1] + columns.tap[j]) * channels;
        }
      kernels.combine(count, rows, fromStep, filters, channels, pixels,
                      to + x * channels, toStep);
      x += pixels * reading.toStep;
    }
}

/// Computes each pixel of `to` from those of `from`.
void combineImages(const ingot_conv_desc &d, const Reading &reading,
                   const float *from, const float *filter, float *to) {
  int64_t channels = d.in_channels;
  int64_t height = reading.toSize[0];
  int64_t fromImage = reading.fromSize[0] * reading.fromSize[1] * channels;
  parallelFor(d.batch * height, /*grain=*/1, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line)
      combineLine(d, reading, reading.find(d, 0, line % height),
                  from + line / height * fromImage, filter,
                  to + line * reading.toSize[1] * channels);
  });
}

/// The positions [begin, end) of outputs that read inputs through a tap.
struct Range {
  Range(const ingot_conv_desc &d, int64_t axis, int64_t tap) {
    // position * stride + shift is in [0, in).
    int64_t stride = d.stride[axis];
    shift = tap * d.dilation[axis] - d.pad_low[axis];
    begin = shift >= 0 ? 0 : ingot::abi::divideCeil(-shift, stride);
    int64_t room = d.in[axis] - shift;
    end = room <= 0
              ? 0
              : std::min(d.out[axis], ingot::abi::divideCeil(room, stride));
  }
  int64_t shift, begin, end;
};

/// Adds the products of one image to sums[tap][channel], for some channels.
void correlateImage(const ingot_conv_desc &d, const float *outputGrad,
                    const float *input, int64_t count, float *sums) {
  const Kernels &kernels = getKernels();
  int64_t channels = d.in_channels;
  auto correlate = [&](int64_t y, const Range &rows, int64_t begin, int64_t end,
                       int64_t i, int64_t j, int64_t taps) {
    if (begin >= end)
      return;
    int64_t shift = j * d.dilation[1] - d.pad_low[1];
    kernels.correlate(
        end - begin, outputGrad + (y * d.out[1] + begin) * channels, channels,
        input + ((y * d.stride[0] + rows.shift) * d.in[1] +
                 begin * d.stride[1] + shift) *
                    channels,
        d.stride[1] * channels, count, taps, d.dilation[1] * channels,
        sums + (i * d.kernel[1] + j) * channels, channels);
  };
  for (int64_t i = 0; i < d.kernel[0]; ++i) {
    Range rows(d, 0, i);
    for (int64_t y = rows.begin; y < rows.end; ++y)
      for (int64_t j = 0; j < d.kernel[1];) {
        int64_t taps = j + kTaps <= d.kernel[1] ? kTaps : 1;
        // The columns that all taps have, then those of each tap before and
        // after.
        int64_t begin = 0, end = d.out[1];
        for (int64_t t = j; t < j + taps; ++t) {
          Range columns(d, 1, t);
          begin = std::max(begin, columns.begin);
          end = std::min(end, columns.end);
        }
        correlate(y, rows, begin, end, i, j, taps);
        end = std::max(begin, end);
        for (int64_t t = j; taps > 1 && t < j + taps; ++t) {
          Range columns(d, 1, t);
          correlate(y, rows, columns.begin, std::min(begin, columns.end), i, t,
                    1);
          correlate(y, rows, std::max(end, columns.begin), columns.end, i, t,
                    1);
        }
        j += taps;
      }
  }
}

void correlateImages(const ingot_conv_desc &d, const float *outputGrad,
                     const float *input, float *filterGrad, float *sums) {
  int64_t channels = d.in_channels, taps = d.kernel[0] * d.kernel[1];
  int64_t blocks =
      ingot::abi::divideCeil(channels, ingot::abi::kDepthwiseBlock);
  int64_t outSize = d.out[0] * d.out[1] * channels;
  int64_t inSize = d.in[0] * d.in[1] * channels;
  parallelTasks(d.batch * blocks, /*grain=*/1, /*perThread=*/16,
                [&](int64_t, int64_t begin, int64_t end) {
                  for (int64_t task = begin; task < end; ++task) {
                    int64_t image = task / blocks;
                    int64_t first = task % blocks * ingot::abi::kDepthwiseBlock;
                    int64_t count =
                        std::min(ingot::abi::kDepthwiseBlock, channels - first);
                    float *own = sums + image * taps * channels + first;
                    for (int64_t tap = 0; tap < taps; ++tap)
                      std::fill_n(own + tap * channels, count, 0.0f);
                    correlateImage(d, outputGrad + image * outSize + first,
                                   input + image * inSize + first, count, own);
                  }
                });
  // Images are added in order, whatever threads there are.
  parallelFor(channels, /*grain=*/64, [&](int64_t begin, int64_t end) {
    for (int64_t channel = begin; channel < end; ++channel)
      for (int64_t tap = 0; tap < taps; ++tap) {
        float sum = 0;
        for (int64_t image = 0; image < d.batch; ++image)
          sum += sums[(image * taps + tap) * channels + channel];
        filterGrad[channel * taps + tap] = sum;
      }
  });
}

} // namespace

bool ingot::runtime::isFastDepthwise(const ingot_conv_desc &d, ConvKind kind) {
  // With AVX2 the library keeps the sums of small filters in registers; those
  // of large ones in the forward pass only.
  constexpr int64_t manyTaps = 25;
  if (kind == ConvKind::Forward)
    return false;
  bool isDense = d.stride[0] == 1 && d.stride[1] == 1;
  return d.kernel[0] * d.kernel[1] >= manyTaps ||
         (isDense && getCpuLevel() <= ingot::abi::CpuLevel::V2);
}

void ingot::runtime::convolveDepthwise(const ingot_conv_desc &d, ConvKind kind,
                                       const float *first, const float *second,
                                       float *result, char *scratch) {
  auto *room = reinterpret_cast<float *>(scratch);
  if (kind == ConvKind::FilterGrad)
    return correlateImages(d, first, second, result, room);
  moveTapsOut(d, d.kernel[0] * d.kernel[1], second, room);
  Reading reading = kind == ConvKind::Forward
                        ? Reading{findInputs, d.in, d.out, d.stride[1], 1}
                        : Reading{findOutputs, d.out, d.in, 1, d.stride[1]};
  combineImages(d, reading, first, room, result);
}
