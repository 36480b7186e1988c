// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How much scratch memory the CPU's entry points of Abi.h need: the compiler
// places it in the arena for the duration of a call. These are upper bounds for
// the machine described; an entry point that needs more at run time (more
// threads, another library) allocates memory of its own.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_PLAN_SCRATCH_H
#define INGOT_RUNTIME_CPU_PLAN_SCRATCH_H

#include "runtime/abi/Abi.h"
#include "runtime/cpu/plan/Blocking.h"
#include "runtime/cpu/plan/GemmRegions.h"

#include <algorithm>

namespace ingot::cpu {

/// The properties of the CPU that scratch memory depends on.
struct ScratchMachine {
  int64_t threads = 1;
  /// Whether matmuls run on tile registers: in 16-bit precision, and in f32 as
  /// sums of bf16 numbers (runtime/cpu/gemm).
  bool tilesHalves = false, tilesF32 = false;
};

namespace detail {

/// The math mode of elements of `type` on tile units, or on vector units.
constexpr ingot_math mathOf(bool onTiles, int32_t type) {
  if (!onTiles)
    return INGOT_MATH_EXACT;
  return type == INGOT_F32 ? INGOT_MATH_BF16X3 : INGOT_MATH_TILES;
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

/// Returns the matmul of a matrix that is not encoded.
constexpr ingot_matmul_desc getDense(const ingot_decoded_matmul_desc &desc) {
  ingot_matmul_desc dense = {};
  dense.batch = 1;
  dense.m = desc.m;
  dense.n = desc.n;
  dense.k = desc.k;
  dense.transpose_b = desc.transpose_b;
  dense.a_type = dense.b_type = desc.a_type;
  dense.c_type = desc.c_type;
  dense.math = desc.math;
  dense.scratch_bytes = desc.scratch_bytes;
  return dense;
}

/// The math mode of a matmul.
constexpr ingot_math getMath(const ingot_matmul_desc &desc,
                             const ScratchMachine &machine) {
  return detail::mathOf(isOnTiles(desc, machine), desc.a_type);
}

namespace detail {

/// Bytes of the sums in f32 of a result in 16 bits that is rounded a part at a
/// time.
constexpr int64_t partBytes(const ingot_matmul_desc &desc,
                            const ScratchMachine &machine) {
  SumPart part = SumPart::of(desc, machine.threads);
  return alignTo(part.batches * desc.m * part.columns * 4, INGOT_ALIGNMENT);
}

/// Bytes of scratch memory of a matmul on tile units.
constexpr int64_t tileBytes(const ingot_matmul_desc &desc,
                            const ScratchMachine &machine) {
  GemmBlocking blocking = getTileBlocking(desc.a_type);
  int64_t rows = blocking.tileRows, columns = blocking.tileColumns;
  int64_t innerBytes = blocking.getLineBytes(std::min(desc.k, blocking.inner));
  int64_t packedRows =
      desc.batch == 1 ? std::min(desc.m, kGemmPackedRows) : desc.m;
  int64_t a = alignTo(alignTo(packedRows, rows) * innerBytes, INGOT_ALIGNMENT);
  int64_t b = alignTo(std::min(desc.n, blocking.columns), columns) * innerBytes;
  int64_t packs = desc.batch == 1 ? 1 : machine.threads;
  int64_t packed = packs * a + machine.threads * b;
  // A thread's sums of a panel, where they are complete, else all.
  bool rounds = desc.c_type != INGOT_F32;
  if (rounds)
    packed += desc.k <= blocking.inner
                  ? machine.threads * rows * blocking.columns * 4
                  : partBytes(desc, machine);
  if (desc.batch != 1)
    return packed;
  // Threads that share a block of b, which stays in the cache and may have all
  // of the inner dimension, pack panels of a, and keep them from one block to
  // the next if they are few.
  int64_t line = blocking.getLineBytes(desc.k);
  int64_t share = divideCeil(desc.m, rows) / machine.threads + 1;
  int64_t panel =
      std::max(rows * line, std::min(share * rows * line, kGemmKeptBytes));
  int64_t width = std::min(alignTo(desc.n, columns), kGemmWideColumns);
  int64_t perThread = panel + (rounds ? rows * width * 4 : 0);
  int64_t shared =
      std::min(width * line, std::max(kGemmBlockBytes, columns * line));
  return std::max(packed, shared + machine.threads * perThread);
}

/// Bytes of scratch memory of one matmul of `desc` on vector units with this
/// blocking, of `columns` columns of its result.
constexpr int64_t singleBytes(const ingot_matmul_desc &desc, int64_t columns,
                              bool rounds, const ScratchMachine &machine,
                              const GemmBlocking &blocking) {
  GemmRegions regions(
      blocking,
      {desc.m, columns, desc.k, !desc.transpose_a || desc.m == 1, rounds},
      machine.threads);
  int64_t bytes = machine.threads * regions.getThreadBytes();
  if (!isSplit(desc.m, columns, desc.k))
    return bytes;
  int64_t width =
      alignTo(std::min(columns, blocking.columns), blocking.tileColumns);
  int64_t inner =
      blocking.getInner(divideCeil(desc.k, kGemmParts) + blocking.step - 1);
  int64_t packed = (blocking.tileRows + width) * blocking.getLineBytes(inner);
  return std::max(bytes,
                  alignTo(kGemmParts * desc.m * columns * 4, INGOT_ALIGNMENT) +
                      machine.threads * packed);
}

/// Bytes of scratch memory of a matmul on vector units with this blocking.
constexpr int64_t vectorBytes(const ingot_matmul_desc &desc,
                              const ScratchMachine &machine,
                              const GemmBlocking &blocking) {
  bool rounds = desc.c_type != INGOT_F32;
  int64_t inner = blocking.getInner(desc.k);
  // Threads pack whole matrices of a batch.
  int64_t batch = 0;
  if (desc.batch != 1) {
    int64_t width =
        alignTo(std::min(desc.n, blocking.columns), blocking.tileColumns);
    int64_t a =
        alignTo(desc.m, blocking.tileRows) * blocking.getLineBytes(inner);
    int64_t sums = rounds && inner == desc.k
                       ? blocking.tileRows * blocking.columns * 4
                       : 0;
    batch = machine.threads * (alignTo(a, INGOT_ALIGNMENT) +
                               width * blocking.getLineBytes(inner) + sums);
  }
  SumPart part = SumPart::of(desc, machine.threads);
  int64_t rest = (desc.n - 1) % part.columns + 1;
  int64_t parts = std::max(
      {batch, singleBytes(desc, part.columns, false, machine, blocking),
       singleBytes(desc, rest, false, machine, blocking)});
  if (rounds)
    parts = alignTo(parts, INGOT_ALIGNMENT) + partBytes(desc, machine);
  return std::max(
      {batch, parts, singleBytes(desc, desc.n, rounds, machine, blocking)});
}

} // namespace detail

/// Bytes of scratch memory of a matmul, whose math mode the descriptor has. It
/// holds packed operands (runtime/cpu/gemm), and sums in f32.
constexpr int64_t getScratchBytes(const ingot_matmul_desc &desc,
                                  const ScratchMachine &machine) {
  if (desc.c_type == INGOT_F64)
    return 0;
  if (isOnTiles(desc, machine))
    return detail::tileBytes(desc, machine);
  // The same trainer may run on CPUs with other vectors, and on those that
  // multiply in bf16.
  int64_t bytes = 0;
  auto add = [&](const GemmBlocking &blocking) {
    bytes = std::max(bytes, detail::vectorBytes(desc, machine, blocking));
    if (desc.math == INGOT_MATH_STRASSEN)
      bytes =
          std::max(bytes, detail::vectorBytes(desc, machine,
                                              getStrassenBlocking(blocking)));
  };
  for (const GemmBlocking &blocking :
       {kVectorBlocking, getNarrowBlocking(8), getNarrowBlocking(4)})
    add(blocking);
  if (desc.a_type == INGOT_BF16 && desc.b_type == INGOT_BF16)
    add(kDotBlocking);
  return bytes;
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

} // namespace ingot::cpu

#endif // INGOT_RUNTIME_CPU_PLAN_SCRATCH_H
