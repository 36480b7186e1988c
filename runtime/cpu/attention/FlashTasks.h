//===----------------------------------------------------------------------===//
//
// One block's work, compiled once per instruction set.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_ATTENTION_FLASHTASKS_H
#define INGOT_RUNTIME_CPU_ATTENTION_FLASHTASKS_H

#include "runtime/cpu/attention/FlashAttention.h"

namespace ingot::runtime::flash {

/// Rows of a block of queries, and of a block of keys.
constexpr int64_t queryBlock = 96, keyBlock = 64;

/// Columns of a packed tile.
inline int64_t padded(int64_t columns) { return (columns + 31) / 32 * 32; }
inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

struct Operands {
  const AttentionShape &shape;
  HeadsView<const float> q, k, v, result, cotangent;
  HeadsView<float> out, dq, dk, dv;
  float *lse, *delta;
};

/// The tasks: a block of queries of one head forward, the same for the
/// gradient of q, and a block of keys of one key head for those of k and v.
struct Tasks {
  void (*forward)(const Operands &, int64_t task, float *scratch);
  void (*queryGradient)(const Operands &, int64_t task, float *scratch);
  void (*keyGradient)(const Operands &, int64_t task, float *scratch);
};

extern const Tasks genericTasks;
#if defined(__x86_64__)
extern const Tasks avx512Tasks;
#endif

} // namespace ingot::runtime::flash

#endif // INGOT_RUNTIME_CPU_ATTENTION_FLASHTASKS_H
