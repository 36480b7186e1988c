// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingot_launch and ingot_copy (Abi.h) on the thread pool.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Context.h"
#include "runtime/cpu/threads/ThreadPool.h"

#include <cstring>

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
