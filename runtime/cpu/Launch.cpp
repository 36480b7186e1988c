//===----------------------------------------------------------------------===//
//
// Entry points for generated kernels, and what else runs on the thread pool
// alone (Abi.h).
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/Abi.h"
#include "runtime/abi/Align.h"
#include "runtime/core/Context.h"
#include "runtime/core/DType.h"
#include "runtime/cpu/ThreadPool.h"

#include <cstring>
#include <numeric>
#include <vector>

using namespace ingot::runtime;

void ingot_launch(ingot_context *context, const ingot_kernel *kernel,
                  void *const *buffers) {
  if (context->failed)
    return;
  ProfileScope scope(context, kernel->index);
  ElementRange range = getElements(context, kernel, kernel->extent);
  parallelFor(range.getCount(), kernel->grain, [=](int64_t begin, int64_t end) {
    kernel->body(buffers, range.begin + begin, range.begin + end);
  });
}

char *const *ingot_shards(ingot_context *context) {
  return context->shards.data();
}

void ingot_copy(ingot_context *context, const ingot_copy_desc *desc,
                const void *from, void *to) {
  if (context->failed)
    return;
  ProfileScope scope(context, desc->index);
  constexpr int64_t grain = 1 << 18;
  int64_t size = desc->element_bytes;
  ElementRange range = getElements(context, desc, desc->bytes / size);
  int64_t first = range.begin * size;
  parallelFor(range.getCount() * size, grain, [=](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char *>(to) + first + begin,
                static_cast<const char *>(from) + first + begin, end - begin);
  });
}

/// In doubles, in an order of its own.
static double sumSquares(const char *data, DType type, int64_t count) {
  constexpr int64_t most = 4096, lanes = 8;
  double elements[most], sums[lanes] = {}, sum = 0;
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
  ElementRange range = getElements(context, desc, desc->elements);
  DType type = desc->type == INGOT_F64    ? DType::F64
               : desc->type == INGOT_BF16 ? DType::BF16
               : desc->type == INGOT_F16  ? DType::F16
                                          : DType::F32;
  // Blocks do not depend on the threads.
  constexpr int64_t block = 4096, grain = 16;
  int64_t blocks = ingot::abi::divideCeil(range.getCount(), block);
  std::vector<double> sums(blocks);
  parallelFor(blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t first = range.begin + i * block;
      sums[i] =
          sumSquares(static_cast<const char *>(input) + first * getSize(type),
                     type, std::min(block, range.end - first));
    }
  });
  *result = std::accumulate(sums.begin(), sums.end(), 0.0);
}
