// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/Reductions.h"

#include "runtime/cpu/vectors/HalfPrecision.h"

#include <algorithm>
#include <stdexcept>

using namespace ingot::runtime;

template <typename T>
static void combine(const T *from, T *to, int64_t count, Reduction reduction) {
  switch (reduction) {
  case Reduction::Sum:
    for (int64_t i = 0; i < count; ++i)
      to[i] += from[i];
    return;
  // Only NaN differs from itself.
  case Reduction::Max:
    for (int64_t i = 0; i < count; ++i)
      to[i] = from[i] > to[i] || from[i] != from[i] ? from[i] : to[i];
    return;
  case Reduction::Min:
    for (int64_t i = 0; i < count; ++i)
      to[i] = from[i] < to[i] || from[i] != from[i] ? from[i] : to[i];
    return;
  }
}

template <typename T>
static void combineAs(const char *from, char *to, int64_t count,
                      Reduction reduction) {
  combine(reinterpret_cast<const T *>(from), reinterpret_cast<T *>(to), count,
          reduction);
}

/// Combines elements of a 16-bit type in f32, and rounds the results.
static void combineHalves(const char *from, char *to, int64_t count, DType type,
                          Reduction reduction) {
  constexpr int64_t kBlock = 512;
  int32_t code = getAbiType(type);
  float left[kBlock], right[kBlock];
  for (int64_t first = 0; first < count; first += kBlock) {
    int64_t block = std::min(kBlock, count - first);
    int64_t offset = first * getSize(type);
    widenToF32(from + offset, code, left, block);
    widenToF32(to + offset, code, right, block);
    combine(left, right, block, reduction);
    roundFromF32(right, to + offset, code, block);
  }
}

void ingot::runtime::combineElements(const char *from, char *to, int64_t count,
                                     DType type, Reduction reduction) {
  switch (type) {
  case DType::F32:
    return combineAs<float>(from, to, count, reduction);
  case DType::F64:
    return combineAs<double>(from, to, count, reduction);
  case DType::I64:
    return combineAs<int64_t>(from, to, count, reduction);
  case DType::I32:
    return combineAs<int32_t>(from, to, count, reduction);
  case DType::BF16:
  case DType::F16:
    return combineHalves(from, to, count, type, reduction);
  default:
    throw std::runtime_error("elements of this type are not combined over "
                             "ranks");
  }
}
