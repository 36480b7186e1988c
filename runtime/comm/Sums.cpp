// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/Sums.h"

#include "runtime/cpu/vectors/HalfPrecision.h"

#include <algorithm>
#include <stdexcept>

using namespace ingot::runtime;

template <typename T>
static void addAs(const char *addend, char *sum, int64_t count) {
  auto *from = reinterpret_cast<const T *>(addend);
  auto *to = reinterpret_cast<T *>(sum);
  for (int64_t i = 0; i < count; ++i)
    to[i] += from[i];
}

/// Adds elements of a 16-bit type in f32, and rounds the sums.
static void addHalves(const char *addend, char *sum, int64_t count,
                      DType type) {
  constexpr int64_t kBlock = 512;
  int32_t code = getAbiType(type);
  float left[kBlock], right[kBlock];
  for (int64_t first = 0; first < count; first += kBlock) {
    int64_t block = std::min(kBlock, count - first);
    int64_t offset = first * getSize(type);
    widenToF32(addend + offset, code, left, block);
    widenToF32(sum + offset, code, right, block);
    for (int64_t i = 0; i < block; ++i)
      right[i] += left[i];
    roundFromF32(right, sum + offset, code, block);
  }
}

void ingot::runtime::addElements(const char *addend, char *sum, int64_t count,
                                 DType type) {
  switch (type) {
  case DType::F32:
    return addAs<float>(addend, sum, count);
  case DType::F64:
    return addAs<double>(addend, sum, count);
  case DType::I64:
    return addAs<int64_t>(addend, sum, count);
  case DType::I32:
    return addAs<int32_t>(addend, sum, count);
  case DType::BF16:
  case DType::F16:
    return addHalves(addend, sum, count, type);
  default:
    throw std::runtime_error("no sum over ranks of this element type");
  }
}
