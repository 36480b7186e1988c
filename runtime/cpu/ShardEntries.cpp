// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingot_shards and ingot_shard_square_sum (Abi.h), for shards in the memory of
// the host.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Context.h"
#include "runtime/core/DType.h"
#include "runtime/cpu/threads/ThreadPool.h"

#include <algorithm>
#include <numeric>
#include <vector>

using namespace ingot::runtime;
namespace abi = ingot::abi;

char *const *ingot_shards(ingot_context *context) {
  return context->shards.data();
}

/// Elements whose squares one thread adds up at a time.
static constexpr int64_t kBlock = 4096;

/// The sum of the squares of at most kBlock elements, in f64, in an order that
/// depends on `count` only.
static double sumSquares(const char *data, DType type, int64_t count) {
  constexpr int64_t lanes = 8;
  double elements[kBlock], sums[lanes] = {}, sum = 0;
  convert(data, type, elements, DType::F64, count);
  for (int64_t i = 0; i < count; ++i)
    sums[i % lanes] += elements[i] * elements[i];
  for (double lane : sums)
    sum += lane;
  return sum;
}

void ingot_shard_square_sum(ingot_context *context,
                            const ingot_shard_desc *desc, const void *input,
                            double *result) {
  if (context->failed)
    return;
  ProfileScope scope(context, desc->index);
  guardLibraryCall(context, "sum of squares", [&] {
    ElementRange range = getElements(context, desc, desc->elements);
    DType type = getDType(desc->type);
    // Blocks do not depend on the number of threads.
    constexpr int64_t grain = 16;
    int64_t blocks = abi::divideCeil(range.getCount(), kBlock);
    std::vector<double> sums(blocks);
    parallelFor(blocks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t first = range.begin + i * kBlock;
        sums[i] =
            sumSquares(static_cast<const char *>(input) + first * getSize(type),
                       type, std::min(kBlock, range.end - first));
      }
    });
    *result = std::accumulate(sums.begin(), sums.end(), 0.0);
  });
}
