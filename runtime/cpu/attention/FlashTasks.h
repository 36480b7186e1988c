//===----------------------------------------------------------------------===//
//
// One block's work, compiled once per instruction set.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_ATTENTION_FLASHTASKS_H
#define INGOT_RUNTIME_CPU_ATTENTION_FLASHTASKS_H

#include "runtime/abi/Philox.h"
#include "runtime/abi/Scratch.h"
#include "runtime/cpu/attention/FlashAttention.h"
#include "runtime/cpu/gemm/GemmKernels.h"

namespace ingot::runtime::flash {

constexpr int64_t queryBlock = abi::AttentionBlocking::kQueries;
constexpr int64_t keyBlock = abi::AttentionBlocking::kKeys;

inline bool isHalf(const AttentionShape &shape) {
  return shape.type != INGOT_F32;
}

/// Columns of a packed tile.
inline int64_t padded(int64_t columns) {
  return abi::alignTo(columns, abi::AttentionBlocking::kColumns);
}
inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/// What a thread works in.
inline abi::AttentionScratch getScratch(const AttentionShape &s) {
  ingot_attention_desc desc = {};
  desc.heads = s.heads;
  desc.key_heads = s.keyHeads;
  desc.queries = s.queries;
  desc.size = s.size;
  desc.value_size = s.valueSize;
  desc.type = s.type;
  return {desc, s.onTiles};
}

/// Keys that count in a batch.
inline int64_t countKeys(const AttentionShape &s, int64_t batch) {
  return s.lengths ? smaller(s.keys, larger(0, s.lengths[batch])) : s.keys;
}

struct Operands {
  const AttentionShape &shape;
  ReadRows q, k, v, result, cotangent;
  WrittenRows out, dq, dk, dv;
  float *lse, *delta;
  /// What multiplies, where tile units do; else null.
  const gemm::Kernels *tiles;
};

/// Work that one thread does, by the index of its part.
using Task = void (*)(const Operands &, int64_t index, float *scratch);

struct Tasks {
  /// A block of queries of one head.
  Task forward;
  /// The same, for what its gradients have in common.
  Task delta;
  /// All gradients of a key head and the heads that use it.
  Task headGradient;
  /// The same in more parts, at the price of computing scores twice: a block
  /// of queries of one head, and a block of keys of one key head. The bits are
  /// the same.
  Task queryGradient, keyGradient;
};

/// What the tasks' code needs of the standard library, which is compiled for
/// any processor.
template <int Value> struct Constant {
  constexpr operator int() const { return Value; }
};
template <int...> struct Sequence {};
template <int Count, int... Values>
struct MakeLanes : MakeLanes<Count - 1, Count - 1, Values...> {};
template <int... Values> struct MakeLanes<0, Values...> {
  using Type = Sequence<Values...>;
};
template <int Count> using Lanes = typename MakeLanes<Count>::Type;

extern const Tasks genericTasks;
#if defined(__x86_64__)
extern const Tasks avx512Tasks;
#endif

} // namespace ingot::runtime::flash

#endif // INGOT_RUNTIME_CPU_ATTENTION_FLASHTASKS_H
