// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How much scratch memory the CPU's entry points of Abi.h need: the compiler
// places it in the arena for the duration of a call. These are upper bounds for
// the machine described; an entry point that needs more at run time (more
// threads, another library) allocates memory of its own.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_ABI_SCRATCH_H
#define INGOT_RUNTIME_ABI_SCRATCH_H

#include "runtime/abi/Abi.h"
#include "runtime/abi/Blocking.h"

#include <algorithm>

namespace ingot::abi {

/// The properties of the CPU that scratch memory depends on.
struct ScratchMachine {
  int64_t threads = 1;
  /// Whether the library multiplies in bf16 and in fp16; else operands are
  /// converted in scratch memory.
  bool multipliesBf16 = false, multipliesF16 = false;
  /// Whether the packed GEMM reads 16-bit operands as they are stored
  /// (runtime/cpu/gemm).
  bool packsHalves = false;
  /// Whether matmuls run on tile registers: in 16-bit precision, and in f32 as
  /// sums of bf16 numbers (runtime/cpu/gemm).
  bool tilesHalves = false, tilesF32 = false;
};

namespace detail {

/// Bytes of `elements` of `type` in f32; 0 if they need no conversion.
constexpr int64_t convertedBytes(const ScratchMachine &machine, int32_t type,
                                 int64_t elements) {
  bool converts = (type == INGOT_BF16 && !machine.multipliesBf16) ||
                  (type == INGOT_F16 && !machine.multipliesF16);
  return converts ? alignTo(elements * 4, INGOT_ALIGNMENT) : 0;
}

/// The math mode of elements of `type` on tile units, or on vector units.
constexpr ingot_math mathOf(bool onTiles, int32_t type) {
  if (!onTiles)
    return INGOT_MATH_EXACT;
  return type == INGOT_F32 ? INGOT_MATH_BF16X3 : INGOT_MATH_TILES;
}

/// Bytes of scratch memory of a Winograd convolution that sums over `in`
/// channels.
constexpr int64_t winogradBytes(int64_t tiles, int64_t in, int64_t out,
                                int64_t threads) {
  WinogradBlocking blocking(tiles, in, out, threads);
  return 4 * std::max(blocking.getDataSize(), blocking.getFilterGradSize());
}

} // namespace detail

/// The part of a matmul's result that is accumulated in f32 at a time, before
/// it is rounded to 16 bits: all rows of some columns, or some matrices of a
/// batch.
struct SumPart {
  int64_t batches, columns;

  /// Chooses parts that stay in the outer caches, and that are wide enough for
  /// the packing of the left operand to cost little.
  static constexpr SumPart of(const ingot_matmul_desc &desc, int64_t threads) {
    constexpr int64_t elements = 1 << 20, leastColumns = 512;
    int64_t most = threads * elements / std::max<int64_t>(desc.m, 1);
    if (desc.batch > 1) {
      int64_t batches = std::max(most / std::max<int64_t>(desc.n, 1), threads);
      return {std::min(desc.batch, batches), desc.n};
    }
    int64_t parts = desc.n / std::max(most, leastColumns) + 1;
    int64_t columns =
        alignTo(divideCeil(desc.n, parts), kVectorBlocking.tileColumns);
    return {desc.batch, std::min(desc.n, columns)};
  }
};

/// Whether a matmul runs on tile units. f32 sums shorter than half a step of
/// the units are not worth it. The choice depends on the length of the sums
/// only, as does the order in which they are accumulated.
constexpr bool isOnTiles(const ingot_matmul_desc &desc,
                         const ScratchMachine &machine) {
  int64_t leastDepth = getTileBlocking(INGOT_F32).step / 2;
  if (desc.a_type != desc.b_type || desc.a_type == INGOT_F64)
    return false;
  return desc.a_type == INGOT_F32 ? machine.tilesF32 && desc.k >= leastDepth
                                  : machine.tilesHalves;
}

/// The math mode of a matmul.
constexpr ingot_math getMath(const ingot_matmul_desc &desc,
                             const ScratchMachine &machine) {
  return detail::mathOf(isOnTiles(desc, machine), desc.a_type);
}

/// Bytes of scratch memory of a matmul. It holds packed operands: rows of a
/// over a block of the inner dimension, and for each thread a block of columns
/// of b (runtime/cpu/gemm). In addition it holds sums in f32 or, where the GEMM
/// does not read 16-bit operands, all operands in f32.
constexpr int64_t getScratchBytes(const ingot_matmul_desc &desc,
                                  const ScratchMachine &machine) {
  using detail::convertedBytes;
  if (desc.c_type == INGOT_F64)
    return 0;
  bool onTiles = isOnTiles(desc, machine);
  GemmBlocking blocking =
      onTiles ? getTileBlocking(desc.a_type) : kVectorBlocking;
  int64_t rows = blocking.tileRows, columns = blocking.tileColumns;
  int64_t innerBytes = blocking.getLineBytes(std::min(desc.k, blocking.inner));
  int64_t packedRows =
      desc.batch == 1 ? std::min(desc.m, kGemmPackedRows) : desc.m;
  int64_t a = alignTo(alignTo(packedRows, rows) * innerBytes, INGOT_ALIGNMENT);
  int64_t b = alignTo(std::min(desc.n, blocking.columns), columns) * innerBytes;
  int64_t packs = desc.batch == 1 ? 1 : machine.threads;
  int64_t packed = packs * a + machine.threads * b;
  int64_t sums = desc.batch * desc.m * desc.n;
  if (onTiles || machine.packsHalves) {
    SumPart part = SumPart::of(desc, machine.threads);
    sums = part.batches * desc.m * part.columns;
  }
  // Threads that share a block of b, which stays in the cache, pack panels of
  // a, and keep them from one block to the next if they are few. On tile units
  // a block may have all of the inner dimension.
  int64_t line = blocking.getLineBytes(
      onTiles ? desc.k : std::min(desc.k, blocking.inner));
  int64_t panel = rows * line;
  int64_t share = divideCeil(desc.m, rows) / machine.threads + 1;
  panel = std::max(panel, std::min(share * panel, kGemmKeptBytes));
  bool isWhole = desc.k <= blocking.inner;
  if (onTiles) {
    // A thread's sums of a panel, where they are complete, else all.
    bool rounds = desc.c_type != INGOT_F32;
    if (rounds)
      packed += isWhole ? machine.threads * rows * blocking.columns * 4
                        : alignTo(sums * 4, INGOT_ALIGNMENT);
    if (desc.batch != 1)
      return packed;
    int64_t width = std::min(alignTo(desc.n, columns), kGemmWideColumns);
    int64_t perThread = panel + (rounds ? rows * width * 4 : 0);
    int64_t shared =
        std::min(width * line, std::max(kGemmBlockBytes, columns * line));
    return std::max(packed, shared + machine.threads * perThread);
  }
  bool keepsPanels = desc.batch == 1 && isWhole && desc.n > blocking.columns &&
                     desc.m >= kGemmManyRows;
  if (keepsPanels)
    packed = std::max(packed, b + machine.threads * panel);
  if (machine.packsHalves) {
    // Complete sums of a panel are rounded without waiting for the others.
    int64_t complete =
        isWhole ? machine.threads * rows * blocking.columns * 4 : 0;
    return desc.c_type == INGOT_F32
               ? packed
               : packed +
                     std::max(complete, alignTo(sums * 4, INGOT_ALIGNMENT));
  }
  return packed + convertedBytes(machine, desc.c_type, sums) +
         convertedBytes(machine, desc.a_type, desc.batch * desc.m * desc.k) +
         convertedBytes(machine, desc.b_type, desc.batch * desc.k * desc.n);
}

/// The entry points of convolutions.
enum class ConvKind { Forward, InputGrad, FilterGrad };

/// Whether a convolution is a matmul of pixels and filters as they are in
/// memory: in f32, with one tap for each pixel.
constexpr bool isPointwise(const ingot_conv_desc &desc) {
  if (desc.type != INGOT_F32 || !desc.channels_last || desc.groups != 1)
    return false;
  for (int64_t i = 0; i < desc.spatial_rank; ++i)
    if (desc.kernel[i] != 1 || desc.stride[i] != 1 || desc.pad_low[i] != 0 ||
        desc.pad_high[i] != 0)
      return false;
  return true;
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
  matmul.math = INGOT_MATH_EXACT;
  matmul.scratch_bytes = desc.scratch_bytes;
  return matmul;
}

/// Whether runtime/cpu/winograd computes a convolution: the form is right, and
/// there are at most half as many multiplications as in the direct algorithm,
/// counting tiles of 4 x 4 outputs that reach over the edge.
constexpr bool isWinograd(const ingot_conv_desc &desc) {
  using Blocking = WinogradBlocking;
  constexpr int64_t lanes = Blocking::kLanes, tile = Blocking::kOut;
  if (desc.type != INGOT_F32 || desc.spatial_rank != 2 || desc.groups != 1 ||
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

/// Whether runtime/cpu/depthwise computes a convolution: each channel has a
/// filter of its own.
constexpr bool isDepthwise(const ingot_conv_desc &desc) {
  return desc.type == INGOT_F32 && desc.spatial_rank == 2 &&
         desc.channels_last && desc.groups == desc.in_channels &&
         desc.groups == desc.out_channels && desc.groups > 1 &&
         desc.kernel[0] * desc.kernel[1] <= kDepthwiseTaps;
}

/// Bytes of scratch memory of such a convolution: the filter in another order,
/// or its gradient in each image.
constexpr int64_t getDepthwiseBytes(const ingot_conv_desc &desc) {
  return alignTo(std::max<int64_t>(desc.batch, 1) * desc.in_channels *
                     desc.kernel[0] * desc.kernel[1] * 4,
                 INGOT_ALIGNMENT);
}

/// Whether a convolution runs as a GEMM on tile units
/// (runtime/cpu/convolution/Im2colConvolution.h): in 16-bit precision, if rows
/// of the image are so short that the vendor's library is slow.
constexpr bool isOnTiles(const ingot_conv_desc &desc, ConvKind kind,
                         const ScratchMachine &machine) {
  constexpr int64_t lanes = 32, shortRow = 4, shortGradRow = 8;
  bool isHalf = desc.type == INGOT_BF16 || desc.type == INGOT_F16;
  if (!isHalf || !machine.tilesHalves || desc.spatial_rank != 2 ||
      desc.groups != 1 || !desc.channels_last || desc.filter_channels_last ||
      desc.batch == 0 || desc.in_channels % lanes != 0 ||
      desc.out_channels % lanes != 0)
    return false;
  if (kind == ConvKind::InputGrad)
    return desc.stride[0] == 1 && desc.stride[1] == 1 && desc.in[1] <= shortRow;
  return desc.out[1] <= (kind == ConvKind::Forward ? shortRow : shortGradRow);
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
    matmul.scratch_bytes = ingot::abi::getScratchBytes(matmul, machine);
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

/// What a thread of the vendor's library needs whatever the convolution.
inline constexpr int64_t kLibraryBytes = 1 << 15;

/// Bytes of scratch memory of a convolution by the vendor's library, whose
/// layouts have channels in blocks of 16. It holds the filter in such a layout
/// and, in the filter's gradient, a sum of filters for each thread. Where
/// channels come first it holds input and output in such layouts, too; where
/// they come last but do not fill blocks, an image's windows for each thread.
constexpr int64_t getScratchBytes(const ingot_conv_desc &desc,
                                  const ScratchMachine &machine) {
  using detail::convertedBytes, detail::winogradBytes;
  if (desc.type == INGOT_F64)
    return 0;
  int64_t in = desc.batch, out = desc.batch, taps = 1;
  for (int64_t i = 0; i < desc.spatial_rank; ++i) {
    in *= desc.in[i];
    out *= desc.out[i];
    taps *= desc.kernel[i];
  }
  int64_t inChannels = desc.in_channels, outChannels = desc.out_channels;
  int64_t converted =
      convertedBytes(machine, desc.type, in * inChannels) +
      convertedBytes(machine, desc.type, out * outChannels) +
      convertedBytes(machine, desc.type,
                     taps * inChannels / desc.groups * outChannels);
  bool isHalf = desc.type != INGOT_F32 && converted == 0;
  int64_t bytes = isHalf ? 2 : 4;
  constexpr int64_t block = 16;
  int64_t filter = taps * alignTo(inChannels / desc.groups, block) *
                   alignTo(outChannels / desc.groups, block) * desc.groups;
  // Sums are in f32, and have a bias.
  int64_t sums = (filter + alignTo(outChannels, block)) * 4;
  bool fills = inChannels / desc.groups % block == 0 &&
               outChannels / desc.groups % block == 0;
  int64_t windows = fills || desc.batch == 0
                        ? 0
                        : taps * inChannels / desc.groups * (out / desc.batch) *
                              machine.threads;
  int64_t data =
      desc.channels_last
          ? alignTo(windows * bytes, 64)
          : alignTo(in * alignTo(inChannels, block) * bytes, 64) +
                alignTo(out * alignTo(outChannels, block) * bytes, 64);
  int64_t library = data + alignTo(filter * bytes, 64) +
                    alignTo(sums * machine.threads, INGOT_ALIGNMENT) +
                    std::max<int64_t>(2, machine.threads) * kLibraryBytes;
  if (isDepthwise(desc))
    return std::max(library, getDepthwiseBytes(desc));
  if (isPointwise(desc)) {
    ScratchMachine vectors;
    vectors.threads = machine.threads;
    for (ConvKind kind :
         {ConvKind::Forward, ConvKind::InputGrad, ConvKind::FilterGrad})
      library = std::max(
          library, getScratchBytes(getPointwiseMatmul(desc, kind), vectors));
  }
  if (!isWinograd(desc))
    return converted + library;
  auto countTiles = [&](const int64_t *extents) {
    constexpr int64_t tile = WinogradBlocking::kOut;
    return desc.batch * divideCeil(extents[0], tile) *
           divideCeil(extents[1], tile);
  };
  return std::max({library,
                   winogradBytes(countTiles(desc.out), inChannels, outChannels,
                                 machine.threads),
                   winogradBytes(countTiles(desc.in), outChannels, inChannels,
                                 machine.threads)});
}

/// Whether attention runs on tile units.
constexpr bool isOnTiles(const ingot_attention_desc &desc,
                         const ScratchMachine &machine) {
  return desc.type == INGOT_F32   ? machine.tilesF32
         : desc.type == INGOT_F64 ? false
                                  : machine.tilesHalves;
}

/// The math mode of attention.
constexpr ingot_math getMath(const ingot_attention_desc &desc,
                             const ScratchMachine &machine) {
  return detail::mathOf(isOnTiles(desc, machine), desc.type);
}

/// The scratch memory of a thread of runtime/cpu/attention.
struct AttentionScratch {
  constexpr AttentionScratch(const ingot_attention_desc &desc, bool onTiles) {
    constexpr int64_t queryBlock = AttentionBlocking::kQueries;
    constexpr int64_t keyBlock = AttentionBlocking::kKeys;
    constexpr int64_t columns = AttentionBlocking::kColumns;
    int64_t size = alignTo(desc.size, columns);
    int64_t valueSize = alignTo(desc.value_size, columns);
    int64_t heads = desc.heads / std::max<int64_t>(desc.key_heads, 1);
    bool isHalf = desc.type != INGOT_F32;
    int64_t shared = heads * desc.queries * size;
    keepsHeads = !isHalf || shared <= AttentionBlocking::kMostQuerySums;
    querySums = !isHalf ? 0 : keepsHeads ? shared : queryBlock * size;
    // Gradients: sums first, then operands.
    int64_t sums = 2 * queryBlock * keyBlock + queryBlock * size +
                   keyBlock * (size + valueSize) + querySums;
    int64_t queries = queryBlock * (size + valueSize);
    int64_t rows = queries + keyBlock * (2 * size + valueSize);
    // On tile units operands consist of parts of two bytes; queries are both a
    // left and a right operand, and there is a strip of weights.
    bytes = onTiles
                ? sums * 4 + (rows + queries + columns * queryBlock) * 2 *
                                 getTileParts(desc.type)
                : std::max(sums + rows, getForwardSize(size, valueSize)) * 4;
    bytes = alignTo(bytes, INGOT_ALIGNMENT);
  }

  /// Numbers in scratch memory of the forward pass on vector units: queries,
  /// keys and values, the scores of a strip of queries, and results.
  static constexpr int64_t getForwardSize(int64_t size, int64_t valueSize) {
    constexpr int64_t queries = AttentionBlocking::kForwardQueries;
    constexpr int64_t keys = AttentionBlocking::kForwardKeys;
    return (queries + keys) * (size + valueSize) +
           kVectorBlocking.tileRows * keys;
  }

  /// Whether the gradients of all queries that share keys are summed at once:
  /// in f32 in place, in 16-bit precision in scratch memory of limited size.
  bool keepsHeads;
  /// Sums of gradients in scratch memory, of those queries or of a block.
  int64_t querySums;
  int64_t bytes;
};

/// Bytes of scratch memory of attention or its gradient: what threads work in,
/// and one number for each query.
constexpr int64_t getScratchBytes(const ingot_attention_desc &desc,
                                  const ScratchMachine &machine) {
  AttentionScratch thread(desc, isOnTiles(desc, machine));
  return machine.threads * thread.bytes +
         alignTo(desc.batch * desc.heads * desc.queries * 4, INGOT_ALIGNMENT);
}

} // namespace ingot::abi

#endif // INGOT_RUNTIME_ABI_SCRATCH_H
