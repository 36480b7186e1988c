#include "runtime/cpu/HalfPrecision.h"

#include "runtime/core/HalfPrecision.h"
#include "runtime/cpu/ThreadPool.h"

using namespace ingot::runtime;

/// Elements that are worth a thread.
static constexpr int64_t kGrain = 1 << 15;
static constexpr int64_t kHalfBytes = 2;

void ingot::runtime::convertToF32(const void *from, int32_t type, float *to,
                                  int64_t count) {
  const auto *bytes = static_cast<const char *>(from);
  parallelFor(count, kGrain, [=](int64_t begin, int64_t end) {
    widenToF32(bytes + begin * kHalfBytes, type, to + begin, end - begin);
  });
}

void ingot::runtime::convertFromF32(const float *from, void *to, int32_t type,
                                    int64_t count) {
  auto *bytes = static_cast<char *>(to);
  parallelFor(count, kGrain, [=](int64_t begin, int64_t end) {
    roundFromF32(from + begin, bytes + begin * kHalfBytes, type, end - begin);
  });
}
