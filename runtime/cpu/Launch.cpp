//===----------------------------------------------------------------------===//
//
// Entry points for generated kernels (Abi.h).
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/Abi.h"
#include "runtime/core/Context.h"
#include "runtime/cpu/ThreadPool.h"

#include <cstring>

using namespace ingot::runtime;

void ingot_launch(ingot_context *context, const ingot_kernel *kernel,
                  void *const *buffers) {
  if (context->failed)
    return;
  ProfileScope scope(context, kernel->index);
  parallelFor(kernel->extent, kernel->grain, [=](int64_t begin, int64_t end) {
    kernel->body(buffers, begin, end);
  });
}

void ingot_copy(ingot_context *context, const ingot_copy_desc *desc,
                const void *from, void *to) {
  if (context->failed)
    return;
  ProfileScope scope(context, desc->index);
  constexpr int64_t grain = 1 << 18;
  parallelFor(desc->bytes, grain, [=](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char *>(to) + begin,
                static_cast<const char *>(from) + begin, end - begin);
  });
}
