// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/attention/FlashAttention.h"

#include "runtime/core/machine/Features.h"
#include "runtime/cpu/attention/FlashKernels.h"
#include "runtime/cpu/threads/ThreadPool.h"

#include <cmath>

using namespace ingot::runtime;
using namespace ingot::runtime::flash;

Dropout::Dropout(double ratio, int64_t seed, int64_t step, int32_t stream)
    : scale(static_cast<float>(1 / (1 - ratio))),
      // bits * 2^-24 >= ratio, both in f32, is bits >= ratio * 2^24.
      least(static_cast<int32_t>(
          std::ceil(std::ldexp(static_cast<float>(ratio), 24)))),
      key{static_cast<uint32_t>(seed),
          static_cast<uint32_t>(static_cast<uint64_t>(seed) >> 32)},
      step(static_cast<uint32_t>(step)), stream(static_cast<uint32_t>(stream)) {
}

static const gemm::Kernels *findTiles(const AttentionShape &shape) {
  return shape.onTiles ? &gemm::getTileKernels(shape.type) : nullptr;
}

static const Kernels &getKernels() {
  static const Kernels &kernels = INGOT_CHOOSE_KERNELS();
  return kernels;
}

/// Runs `count` tasks on the thread pool, each as soon as a thread is free:
/// under a causal mask later blocks have more to do.
static void runTasks(Kernel kernel, const Operands &operands, int64_t count,
                     void *scratch) {
  int64_t each = flashAttentionScratch(operands.shape);
  parallelTasks(count, 1, count,
                [&](int64_t thread, int64_t begin, int64_t end) {
                  if (operands.tiles)
                    operands.tiles->begin();
                  auto *own = reinterpret_cast<float *>(
                      static_cast<char *>(scratch) + thread * each);
                  for (int64_t i = begin; i < end; ++i)
                    kernel(operands, i, own);
                  if (operands.tiles)
                    operands.tiles->end();
                });
}

int64_t ingot::runtime::flashAttentionScratch(const AttentionShape &s) {
  return getScratch(s).bytes;
}

void ingot::runtime::flashAttention(const AttentionShape &s, ReadRows q,
                                    ReadRows k, ReadRows v, WrittenRows result,
                                    float *lse, void *scratch) {
  Operands o{s,  q,  k,  v,   {},      {},          result,
             {}, {}, {}, lse, nullptr, findTiles(s)};
  int64_t blocks =
      ingot::abi::divideCeil(s.queries, forwardQueriesOf(s, o.tiles));
  runTasks(getKernels().forward, o, s.batch * s.heads * blocks, scratch);
}

void ingot::runtime::flashAttentionGrad(const AttentionShape &s, ReadRows q,
                                        ReadRows k, ReadRows v, ReadRows result,
                                        const float *lse, ReadRows cotangent,
                                        WrittenRows dq, WrittenRows dk,
                                        WrittenRows dv, float *delta,
                                        void *scratch) {
  Operands o{s,
             q,
             k,
             v,
             result,
             cotangent,
             {},
             dq,
             dk,
             dv,
             const_cast<float *>(lse),
             delta,
             findTiles(s)};
  int64_t queryBlocks =
      s.batch * s.heads * ingot::abi::divideCeil(s.queries, kQueryBlock);
  int64_t heads = s.batch * s.keyHeads, threads = getThreadCount();
  bool isEven = heads % threads == 0 || heads >= 4 * threads;
  if (isEven && getScratch(s).keepsHeads)
    return runTasks(getKernels().headGradients, o, heads, scratch);
  runTasks(getKernels().delta, o, queryBlocks, scratch);
  runTasks(getKernels().queryGradients, o, queryBlocks, scratch);
  runTasks(getKernels().keyGradients, o,
           heads * ingot::abi::divideCeil(s.keys, kKeyBlock), scratch);
}
