// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Which algorithm a convolution of Abi.h runs by on a CPU, its blocking, and
// the scratch memory that it needs: see Scratch.h.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_PLAN_CONVOLUTIONALGORITHMS_H
#define INGOT_RUNTIME_CPU_PLAN_CONVOLUTIONALGORITHMS_H

#include "runtime/cpu/plan/Scratch.h"

namespace ingot::cpu {

namespace detail {

/// Bytes of scratch memory of a Winograd convolution that sums over `in`
/// channels.
constexpr int64_t winogradBytes(int64_t tiles, int64_t in, int64_t out,
                                int64_t threads) {
  return 4 * std::max(WinogradBlocking(tiles, in, out, threads, false).size,
                      WinogradBlocking(tiles, in, out, threads, true).size);
}

} // namespace detail

/// The entry points of convolutions.
enum class ConvKind { Forward, InputGrad, FilterGrad };

/// Whether a convolution is a matmul of pixels and filters: with one tap for
/// each pixel.
constexpr bool hasOneTap(const ingot_conv_desc &desc) {
  if (desc.type == INGOT_F64 || !desc.channels_last || desc.groups != 1)
    return false;
  for (int64_t i = 0; i < desc.spatial_rank; ++i)
    if (desc.kernel[i] != 1 || desc.pad_low[i] != 0 || desc.pad_high[i] != 0)
      return false;
  return true;
}

/// Whether the pixels of that matmul are as they are in memory.
constexpr bool isPointwise(const ingot_conv_desc &desc) {
  if (!hasOneTap(desc))
    return false;
  for (int64_t i = 0; i < desc.spatial_rank; ++i)
    if (desc.stride[i] != 1)
      return false;
  return true;
}

/// Whether that matmul, of the forward pass or of the filter's gradient, has
/// strides: its pixels of the input are gathered first, where it is used.
constexpr bool isGathered(const ingot_conv_desc &desc, ConvKind kind) {
  return kind != ConvKind::InputGrad && hasOneTap(desc) && !isPointwise(desc);
}

/// Bytes of these pixels in scratch memory.
constexpr int64_t getGatheredBytes(const ingot_conv_desc &desc) {
  int64_t elements = desc.batch * desc.in_channels;
  for (int64_t i = 0; i < desc.spatial_rank; ++i)
    elements *= desc.out[i];
  return alignTo(elements * (desc.type == INGOT_F32 ? 4 : 2), INGOT_ALIGNMENT);
}

/// The matmul of such a convolution, or of one of its gradients, with the
/// operands of the entry point in their order.
constexpr ingot_matmul_desc getPointwiseMatmul(const ingot_conv_desc &desc,
                                               ConvKind kind) {
  int64_t pixels = desc.batch;
  for (int64_t i = 0; i < desc.spatial_rank; ++i)
    pixels *= desc.out[i];
  bool isForward = kind == ConvKind::Forward;
  bool isFilterGrad = kind == ConvKind::FilterGrad;
  ingot_matmul_desc matmul = {};
  matmul.index = desc.index;
  matmul.batch = 1;
  matmul.m = isFilterGrad ? desc.out_channels : pixels;
  matmul.n = isForward ? desc.out_channels : desc.in_channels;
  matmul.k = isForward      ? desc.in_channels
             : isFilterGrad ? pixels
                            : desc.out_channels;
  matmul.transpose_a = isFilterGrad;
  matmul.transpose_b = isForward;
  matmul.a_type = matmul.b_type = matmul.c_type = desc.type;
  matmul.math = desc.math;
  matmul.scratch_bytes = desc.scratch_bytes;
  return matmul;
}

/// Whether runtime/cpu/winograd can compute a convolution: the form is right,
/// and there are at most half as many multiplications as in the direct
/// algorithm, counting tiles of 4 x 4 outputs that reach over the edge.
constexpr bool hasWinogradForm(const ingot_conv_desc &desc) {
  using Blocking = WinogradBlocking;
  constexpr int64_t lanes = Blocking::kLanes, tile = Blocking::kOut;
  if (desc.type == INGOT_F64 || desc.spatial_rank != 2 || desc.groups != 1 ||
      !desc.channels_last || desc.filter_channels_last ||
      desc.in_channels % lanes != 0 || desc.out_channels % lanes != 0 ||
      desc.batch == 0)
    return false;
  int64_t tiles = 1, outputs = 1, inTiles = 1, inputs = 1;
  for (int64_t i = 0; i < 2; ++i) {
    if (desc.kernel[i] != Blocking::kTaps || desc.stride[i] != 1 ||
        desc.dilation[i] != 1 || desc.pad_low[i] >= Blocking::kTaps ||
        desc.pad_high[i] >= Blocking::kTaps)
      return false;
    tiles *= divideCeil(desc.out[i], tile);
    outputs *= desc.out[i];
    inTiles *= divideCeil(desc.in[i], tile);
    inputs *= desc.in[i];
  }
  // Transforming the filters pays off for enough tiles only.
  constexpr int64_t least = 24;
  constexpr int64_t points = Blocking::kPoints,
                    taps = Blocking::kTaps * Blocking::kTaps;
  return desc.batch * std::min(tiles, inTiles) >= least &&
         2 * points * tiles <= taps * outputs &&
         2 * points * inTiles <= taps * inputs;
}

/// Whether it does: the compiler has chosen Winograd's algorithm.
constexpr bool isWinograd(const ingot_conv_desc &desc) {
  return desc.math == INGOT_MATH_WINOGRAD && hasWinogradForm(desc);
}

/// Whether a convolution is depthwise (runtime/cpu/depthwise): each channel has
/// a filter of its own, or one for each channel of a group that vectors are
/// filled with.
constexpr bool isDepthwise(const ingot_conv_desc &desc) {
  constexpr int64_t lanes = 16;
  if (desc.type == INGOT_F64 || desc.groups <= 1 ||
      desc.in_channels != desc.out_channels)
    return false;
  int64_t inputs = desc.in_channels / desc.groups;
  return inputs == 1 || ((inputs == 4 || inputs == 8 || inputs == 16) &&
                         desc.in_channels % lanes == 0);
}

namespace detail {

/// Elements of a row that windows are read from, and how many such rows the
/// taps of one row of results are in, counting also those behind each other.
struct WindowRows {
  constexpr WindowRows(const ingot_conv_desc &desc, ConvKind kind) {
    int64_t last = desc.spatial_rank - 1;
    for (int64_t i = 0; i <= last; ++i) {
      int64_t reach = (desc.kernel[i] - 1) * desc.dilation[i];
      int64_t stride = desc.stride[i];
      if (i == last)
        pixels =
            kind == ConvKind::InputGrad
                ? divideCeil(desc.in[i], stride) + reach / stride + 1
                : std::max<int64_t>(desc.out[i] - 1, 0) * stride + reach + 1;
      else
        copies *= kind == ConvKind::InputGrad
                      ? std::min(reach / stride + 1, desc.out[i])
                      : std::min(reach + 1, desc.in[i]);
    }
  }
  int64_t pixels = 1, copies = 1;
};

} // namespace detail

/// The scratch memory of a depthwise convolution, in elements of f32: the
/// filter, channel by channel of a group within tap by tap, or its gradients
/// for parts of the batch; then, for each thread, which rows it has, rows that
/// windows are read from, and rows of results or, of the filter's gradient, of
/// the output's gradient.
struct DepthwiseBlocking {
  constexpr DepthwiseBlocking(const ingot_conv_desc &desc, ConvKind kind,
                              int64_t threads)
      : threads(threads) {
    constexpr int64_t lanes = 16;
    inputs = desc.in_channels / desc.groups;
    width = alignTo(desc.in_channels, lanes);
    int64_t last = desc.spatial_rank - 1, outputs = desc.batch;
    for (int64_t i = 0; i <= last; ++i) {
      taps *= desc.kernel[i];
      outputs *= desc.out[i];
    }
    filters = taps * inputs * width;
    detail::WindowRows window(desc, kind);
    if (kind != ConvKind::FilterGrad) {
      tags = window.copies;
      rows = tags * window.pixels * desc.in_channels + kDepthwiseBlock;
      bool isPlain = desc.type == INGOT_F32 && desc.channels_last;
      others = isPlain ? 0
                       : (kind == ConvKind::Forward ? desc.out[last]
                                                    : desc.in[last]) *
                                 desc.in_channels +
                             kDepthwiseBlock;
      return;
    }
    constexpr int64_t tasks = 16, leastPixels = 512, pixels = 128;
    parts = std::max<int64_t>(
        std::min(
            {desc.batch,
             divideCeil(tasks, divideCeil(desc.in_channels, kDepthwiseBlock)),
             divideCeil(outputs, leastPixels)}),
        1);
    filters *= parts;
    chunk = std::clamp<int64_t>(pixels / std::max<int64_t>(desc.out[last], 1),
                                1, kDirectGradRows);
    for (int64_t i = 0; i < last; ++i) {
      int64_t reach = (desc.kernel[i] - 1) * desc.dilation[i] + 1;
      if (i + 1 == last)
        reach += (chunk - 1) * desc.stride[i];
      slots[2 - last + i] = std::min(reach, desc.in[i]);
    }
    tags = slots[0] * slots[1];
    int64_t block = std::min(desc.in_channels, kDepthwiseBlock);
    rows = tags * window.pixels * block + kDepthwiseBlock;
    others = chunk * desc.out[last] * block + kDepthwiseBlock;
  }

  constexpr int64_t getTagBytes() const {
    return alignTo((tags + chunk) * 8, 64);
  }
  constexpr int64_t getThreadOffset(int64_t thread) const {
    return alignTo(filters * 4, 64) +
           thread * alignTo(getTagBytes() + (rows + others) * 4, 64);
  }
  constexpr int64_t getBytes() const {
    return alignTo(getThreadOffset(threads), INGOT_ALIGNMENT);
  }

  int64_t threads;
  /// Taps of a filter, channels of a group, and all channels in whole vectors.
  int64_t taps = 1, inputs = 1, width = 0;
  int64_t filters = 0, rows = 0, others = 0, tags = 0;
  /// For the filter's gradient, as in a direct convolution.
  int64_t parts = 1, chunk = 1, slots[2] = {1, 1};
};

/// Whether a convolution on tile units is a GEMM of gathered windows
/// (runtime/cpu/convolution/Im2colConvolution.h): rows of the image are so
/// short that tiles of pixels of one row would be mostly empty.
constexpr bool isIm2col(const ingot_conv_desc &desc, ConvKind kind) {
  constexpr int64_t lanes = 32, shortRow = 4, shortGradRow = 8;
  if (desc.spatial_rank != 2 || desc.groups != 1 || !desc.channels_last ||
      desc.filter_channels_last || desc.in_channels % lanes != 0 ||
      desc.out_channels % lanes != 0 || hasOneTap(desc))
    return false;
  if (kind == ConvKind::InputGrad)
    return desc.stride[0] == 1 && desc.stride[1] == 1 && desc.in[1] <= shortRow;
  return desc.out[1] <= (kind == ConvKind::Forward ? shortRow : shortGradRow);
}

/// Whether a convolution runs on tile units: in 16 bits as a matmul, and else
/// in bf16 directly (runtime/cpu/direct), where channels, or pixels for the
/// filter's gradient, make pairs.
constexpr bool isOnTiles(const ingot_conv_desc &desc, ConvKind kind,
                         const ScratchMachine &machine) {
  bool isHalf = desc.type == INGOT_BF16 || desc.type == INGOT_F16;
  if (!isHalf || !machine.tilesHalves || desc.batch == 0)
    return false;
  if (isPointwise(desc) || isGathered(desc, kind) || isIm2col(desc, kind))
    return true;
  if (desc.type != INGOT_BF16 || !desc.channels_last || isDepthwise(desc))
    return false;
  int64_t summed =
      kind == ConvKind::Forward ? desc.in_channels : desc.out_channels;
  return kind == ConvKind::FilterGrad || desc.groups == 1 ||
         summed / desc.groups % 2 == 0;
}

/// The math mode of a convolution.
constexpr ingot_math getMath(const ingot_conv_desc &desc, ConvKind kind,
                             const ScratchMachine &machine) {
  return detail::mathOf(isOnTiles(desc, kind, machine), desc.type);
}

/// A convolution as a GEMM with its windows (im2col), which are gathered a part
/// at a time.
struct Im2colGemm {
  constexpr Im2colGemm(const ingot_conv_desc &desc, ConvKind kind,
                       int64_t threads) {
    constexpr int64_t half = 2;
    taps = desc.kernel[0] * desc.kernel[1];
    const int64_t *positions = kind == ConvKind::InputGrad ? desc.in : desc.out;
    rows = desc.batch * positions[0] * positions[1];
    int64_t in = desc.in_channels, out = desc.out_channels;
    int64_t channels = kind == ConvKind::InputGrad ? out : in;
    matmul.batch = 1;
    matmul.a_type = matmul.b_type = matmul.c_type = desc.type;
    matmul.math = INGOT_MATH_TILES;
    // The filter's gradient has columns for each tap; else parts are rows.
    bool byTaps = kind == ConvKind::FilterGrad;
    int64_t partBytes = (byTaps ? rows : taps) * channels * half;
    int64_t parts = byTaps ? taps : rows;
    part = std::clamp<int64_t>(kIm2colBytes / std::max<int64_t>(partBytes, 1),
                               1, std::max<int64_t>(parts, 1));
    rowsBytes = alignTo(part * partBytes, INGOT_ALIGNMENT);
    filterBytes = alignTo(taps * in * out * half, INGOT_ALIGNMENT);
    matmul.transpose_a = byTaps;
    matmul.m = byTaps ? out : part;
    matmul.n = byTaps ? part * in : kind == ConvKind::Forward ? out : in;
    matmul.k = byTaps ? rows : taps * channels;
    ScratchMachine machine;
    machine.threads = threads;
    machine.tilesHalves = true;
    matmul.scratch_bytes = ingot::cpu::getScratchBytes(matmul, machine);
  }

  constexpr int64_t getScratchBytes() const {
    return rowsBytes + filterBytes + matmul.scratch_bytes;
  }

  /// The number of positions and of taps, and how many positions a part has; of
  /// the filter's gradient, how many taps.
  int64_t rows, taps, part;
  /// Bytes of the windows of a part, and of the filter in another order.
  int64_t rowsBytes, filterBytes;
  /// The matmul of a part; that of the last part is smaller.
  ingot_matmul_desc matmul = {};
};

/// The scratch memory of a direct convolution (runtime/cpu/direct), in elements
/// of f32: packed filters or, of the filter's gradient, sums for parts of the
/// batch; then, for each thread, which rows it has, rows of the operand that
/// windows are read from, and rows of results or, of the filter's gradient, of
/// the output's gradient.
struct DirectBlocking {
  constexpr DirectBlocking(const ingot_conv_desc &desc, ConvKind kind,
                           int64_t threads)
      : threads(threads) {
    constexpr int64_t panel = 32;
    bool isForward = kind == ConvKind::Forward;
    bool isFilterGrad = kind == ConvKind::FilterGrad;
    int64_t last = desc.spatial_rank - 1, taps = 1, outputs = desc.batch;
    for (int64_t i = 0; i <= last; ++i) {
      taps *= desc.kernel[i];
      outputs *= desc.out[i];
    }
    detail::WindowRows window(desc, kind);
    int64_t in = desc.in_channels / desc.groups;
    int64_t out = desc.out_channels / desc.groups;
    int64_t from =
        kind == ConvKind::InputGrad ? desc.out_channels : desc.in_channels;
    if (isFilterGrad) {
      constexpr int64_t tasks = 8, blockColumns = 128, mostSums = 2 << 20;
      constexpr int64_t leastPixels = 512;
      int64_t width = alignTo(out, panel);
      filters = taps * in * width * desc.groups;
      int64_t perPart = desc.groups * divideCeil(width, blockColumns);
      parts = std::max<int64_t>(
          std::min({desc.batch, divideCeil(tasks, perPart),
                    divideCeil(outputs, leastPixels),
                    mostSums / std::max<int64_t>(filters, 1)}),
          1);
      filters *= parts;
      chunk = std::clamp<int64_t>(kDirectGradPixels /
                                      std::max<int64_t>(desc.out[last], 1),
                                  1, kDirectGradRows);
      // Rows that the taps of neighbouring rows of outputs read.
      for (int64_t i = 0; i < last; ++i) {
        int64_t reach = (desc.kernel[i] - 1) * desc.dilation[i] + 1;
        if (i + 1 == last)
          reach += (chunk - 1) * desc.stride[i];
        slots[2 - last + i] = std::min(reach, desc.in[i]);
      }
      tags = slots[0] * slots[1];
      rows = tags * window.pixels * (in + kDirectPadding);
      results = chunk * desc.out[last] * std::min(width, blockColumns);
      return;
    }
    int64_t to = isForward ? desc.out_channels : desc.in_channels;
    int64_t toPixels = isForward ? desc.out[last]
                                 : divideCeil(desc.in[last], desc.stride[last]);
    filters = taps * (isForward ? in : out) *
              alignTo(isForward ? out : in, panel) * desc.groups;
    tags = window.copies;
    rows = tags * window.pixels * (from + kDirectPadding);
    bool isPlain = desc.type == INGOT_F32 && desc.channels_last;
    results = isPlain ? 0 : std::min(toPixels, kDirectColumns) * to;
  }

  constexpr int64_t getTagBytes() const { return alignTo(tags * 8, 64); }
  constexpr int64_t getThreadBytes() const {
    return alignTo(getTagBytes() + (rows + results) * 4, 64);
  }
  constexpr int64_t getThreadOffset(int64_t thread) const {
    return alignTo(filters * 4, 64) + thread * getThreadBytes();
  }
  constexpr int64_t getBytes() const {
    return alignTo(getThreadOffset(threads), INGOT_ALIGNMENT);
  }

  int64_t threads;
  int64_t filters = 0, rows = 0, results = 0;
  /// Numbers that say which rows a thread has.
  int64_t tags = 0;
  /// For the filter's gradient: the parts of the batch whose sums are separate,
  /// the most rows of outputs that are multiplied at once, and the rows of
  /// inputs, of two axes, that are kept for them.
  int64_t parts = 1, chunk = 1, slots[2] = {1, 1};
};

/// Bytes of scratch memory of a convolution, unless it is a GEMM of gathered
/// windows.
constexpr int64_t getScratchBytes(const ingot_conv_desc &desc,
                                  const ScratchMachine &machine) {
  using detail::winogradBytes;
  if (desc.type == INGOT_F64 || desc.batch == 0)
    return 0;
  int64_t bytes = 0;
  for (ConvKind kind :
       {ConvKind::Forward, ConvKind::InputGrad, ConvKind::FilterGrad}) {
    bytes = std::max(
        bytes, isDepthwise(desc)
                   ? DepthwiseBlocking(desc, kind, machine.threads).getBytes()
                   : DirectBlocking(desc, kind, machine.threads).getBytes());
    if (isPointwise(desc))
      bytes = std::max(
          bytes, getScratchBytes(getPointwiseMatmul(desc, kind), machine));
    if (isGathered(desc, kind))
      bytes = std::max(
          bytes, getGatheredBytes(desc) +
                     getScratchBytes(getPointwiseMatmul(desc, kind), machine));
  }
  if (!isWinograd(desc))
    return bytes;
  auto countTiles = [&](const int64_t *extents) {
    constexpr int64_t tile = WinogradBlocking::kOut;
    return desc.batch * divideCeil(extents[0], tile) *
           divideCeil(extents[1], tile);
  };
  return std::max({bytes,
                   winogradBytes(countTiles(desc.out), desc.in_channels,
                                 desc.out_channels, machine.threads),
                   winogradBytes(countTiles(desc.in), desc.out_channels,
                                 desc.in_channels, machine.threads)});
}

} // namespace ingot::cpu

#endif // INGOT_RUNTIME_CPU_PLAN_CONVOLUTIONALGORITHMS_H
