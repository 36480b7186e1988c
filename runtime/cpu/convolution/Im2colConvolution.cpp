// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/convolution/Im2colConvolution.h"

#include "runtime/core/Context.h"
#include "runtime/cpu/gemm/PackedGemm.h"
#include "runtime/cpu/threads/ThreadPool.h"

#include <algorithm>
#include <cstring>

using namespace ingot::runtime;
using ingot::cpu::ConvKind;
using ingot::cpu::Im2colGemm;

namespace {

/// The windows of images whose channels come last: the pixels under the filter
/// at each position.
struct Windows {
  const uint16_t *image;
  int64_t channels;
  int64_t extents[2], positions[2];
  int64_t kernel[2];
  /// The pixel under tap k at position p is p * stride + first + k * step, or
  /// zero outside the image.
  int64_t stride[2], first[2], step[2];

  int64_t countPositions() const { return positions[0] * positions[1]; }

  /// Gathers the windows at positions [begin, end) of all images, for taps
  /// [firstTap, lastTap), as rows.
  void gather(int64_t begin, int64_t end, int64_t firstTap, int64_t lastTap,
              uint16_t *rows) const;
};

} // namespace

void Windows::gather(int64_t begin, int64_t end, int64_t firstTap,
                     int64_t lastTap, uint16_t *rows) const {
  size_t bytes = channels * sizeof(uint16_t);
  for (int64_t row = begin; row < end; ++row) {
    const uint16_t *pixels =
        image + row / countPositions() * extents[0] * extents[1] * channels;
    int64_t position = row % countPositions();
    int64_t top = position / positions[1] * stride[0] + first[0];
    int64_t left = position % positions[1] * stride[1] + first[1];
    for (int64_t tap = firstTap; tap < lastTap; ++tap, rows += channels) {
      int64_t y = top + tap / kernel[1] * step[0];
      int64_t x = left + tap % kernel[1] * step[1];
      bool isInside = y >= 0 && y < extents[0] && x >= 0 && x < extents[1];
      if (isInside)
        std::memcpy(rows, pixels + (y * extents[1] + x) * channels, bytes);
      else
        std::memset(rows, 0, bytes);
    }
  }
}

static Windows getInputWindows(const ingot_conv_desc &d, const void *input) {
  Windows windows = {};
  windows.image = static_cast<const uint16_t *>(input);
  windows.channels = d.in_channels;
  for (int64_t i = 0; i < 2; ++i) {
    windows.extents[i] = d.in[i];
    windows.positions[i] = d.out[i];
    windows.kernel[i] = d.kernel[i];
    windows.stride[i] = d.stride[i];
    windows.first[i] = -d.pad_low[i];
    windows.step[i] = d.dilation[i];
  }
  return windows;
}

/// The windows of outputs that an input contributes to.
static Windows getOutputWindows(const ingot_conv_desc &d, const void *output) {
  Windows windows = {};
  windows.image = static_cast<const uint16_t *>(output);
  windows.channels = d.out_channels;
  for (int64_t i = 0; i < 2; ++i) {
    windows.extents[i] = d.out[i];
    windows.positions[i] = d.in[i];
    windows.kernel[i] = d.kernel[i];
    windows.stride[i] = 1;
    windows.first[i] = d.pad_low[i];
    windows.step[i] = -d.dilation[i];
  }
  return windows;
}

//===----------------------------------------------------------------------===//
// Filters, stored as [out, in, taps], with a contiguous input channel
//===----------------------------------------------------------------------===//

/// Calls `visit(filter, other)` for each pair of channels: `filter` is the
/// element of the first tap in [out, in, taps], `other` that in an order in
/// which input channels are contiguous.
template <typename Visit>
static void forEachRow(const ingot_conv_desc &d, int64_t taps,
                       int64_t outStride, Visit visit) {
  parallelFor(d.out_channels, /*grain=*/4, [&](int64_t begin, int64_t end) {
    for (int64_t out = begin; out < end; ++out)
      for (int64_t in = 0; in < d.in_channels; ++in)
        visit((out * d.in_channels + in) * taps, out * outStride + in);
  });
}

static void moveTapsOut(const ingot_conv_desc &d, int64_t taps,
                        const uint16_t *filter, int64_t outStride,
                        int64_t tapStride, uint16_t *to) {
  forEachRow(d, taps, outStride, [=](int64_t row, int64_t other) {
    for (int64_t tap = 0; tap < taps; ++tap)
      to[other + tap * tapStride] = filter[row + tap];
  });
}

//===----------------------------------------------------------------------===//
// GEMMs
//===----------------------------------------------------------------------===//

/// Multiplies all windows by the filter, some rows of them at a time.
static void multiplyWindows(ingot_context *context, const Im2colGemm &product,
                            const Windows &windows, const uint16_t *filter,
                            bool transposesFilter, uint16_t *result,
                            uint16_t *rows, char *scratch) {
  int64_t channels = product.matmul.n;
  for (int64_t first = 0; first < product.rows; first += product.part) {
    int64_t count = std::min(product.part, product.rows - first);
    int64_t taps = product.taps, width = taps * windows.channels;
    parallelFor(count, /*grain=*/16, [&](int64_t begin, int64_t end) {
      windows.gather(first + begin, first + end, 0, taps, rows + begin * width);
    });
    ingot_matmul_desc matmul = product.matmul;
    matmul.m = count;
    matmul.transpose_b = transposesFilter;
    multiplyPacked(context, matmul, /*onTiles=*/true, rows, filter,
                   result + first * channels, scratch);
  }
}

/// Computes the filter's gradient, some of its taps at a time.
static void multiplyByWindows(ingot_context *context, const ingot_conv_desc &d,
                              const Im2colGemm &product, const Windows &windows,
                              const void *outputGrad, uint16_t *filterGrad,
                              uint16_t *rows, uint16_t *sums, char *scratch) {
  int64_t in = d.in_channels, out = d.out_channels;
  for (int64_t first = 0; first < product.taps; first += product.part) {
    int64_t count = std::min(product.part, product.taps - first);
    parallelFor(product.rows, /*grain=*/16, [&](int64_t begin, int64_t end) {
      windows.gather(begin, end, first, first + count,
                     rows + begin * count * in);
    });
    ingot_matmul_desc matmul = product.matmul;
    matmul.n = count * in;
    multiplyPacked(context, matmul, /*onTiles=*/true, outputGrad, rows,
                   sums + first * out * in, scratch);
  }
  // The sums of a part are [out, tap, in].
  for (int64_t first = 0; first < product.taps; first += product.part) {
    int64_t count = std::min(product.part, product.taps - first);
    const uint16_t *part = sums + first * out * in;
    forEachRow(d, product.taps, count * in, [=](int64_t row, int64_t other) {
      for (int64_t tap = 0; tap < count; ++tap)
        filterGrad[row + first + tap] = part[other + tap * in];
    });
  }
}

void ingot::runtime::convolveIm2col(ingot_context *context,
                                    const ingot_conv_desc &d, ConvKind kind,
                                    const void *first, const void *second,
                                    void *result, void *planned) {
  Im2colGemm product(d, kind, getThreadCount());
  char *scratch =
      context->getScratch(product.getScratchBytes(), planned, d.scratch_bytes);
  auto *rows = reinterpret_cast<uint16_t *>(scratch);
  auto *filter = reinterpret_cast<uint16_t *>(scratch + product.rowsBytes);
  char *packs = scratch + product.rowsBytes + product.filterBytes;
  auto *to = static_cast<uint16_t *>(result);
  const auto *from = static_cast<const uint16_t *>(second);
  int64_t in = d.in_channels, out = d.out_channels, taps = product.taps;
  switch (kind) {
  case ConvKind::Forward:
    moveTapsOut(d, taps, from, /*outStride=*/taps * in, /*tapStride=*/in,
                filter);
    return multiplyWindows(context, product, getInputWindows(d, first), filter,
                           /*transposesFilter=*/true, to, rows, packs);
  case ConvKind::InputGrad:
    moveTapsOut(d, taps, from, /*outStride=*/in, /*tapStride=*/out * in,
                filter);
    return multiplyWindows(context, product, getOutputWindows(d, first), filter,
                           /*transposesFilter=*/false, to, rows, packs);
  case ConvKind::FilterGrad:
    return multiplyByWindows(context, d, product, getInputWindows(d, second),
                             first, to, rows, filter, packs);
  }
}
