// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A matrix times a vector on vector units, from where the matrix is: each of
// its elements is used once, so that packing would only read and write it once
// more. Sums are accumulated in the order of multiplyTile (VectorGemm.h).
//
// Compiled once per instruction set: see Vectors.h.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_GEMM_KERNELS_VECTORGEMV_H
#define INGOT_RUNTIME_CPU_GEMM_KERNELS_VECTORGEMV_H

#include "runtime/cpu/gemm/kernels/VectorGemm.h"

namespace ingot::runtime::gemm {
namespace {

/// Lines that are contiguous, a vector of each at a time: transposed, their
/// elements at one position are a vector of terms, one for each sum.
template <typename Type>
void multiplyAlong(const typename Type::Element *matrix, int64_t lineStride,
                   int64_t lines, int64_t size, const float *vector,
                   float *sums, bool adds) {
  // The chains of sums that are in flight.
  constexpr int64_t groups = kGemvLines / kLanes;
  constexpr int64_t ahead = 512 / sizeof(typename Type::Element);
  for (int64_t first = 0; first < lines; first += kGemvLines) {
    const typename Type::Element *line[kGemvLines];
    for (int64_t l = 0; l < kGemvLines; ++l)
      line[l] = matrix + smaller(first + l, lines - 1) * lineStride;
    Vector sum[groups] = {};
    int64_t i = 0;
    for (; i + kLanes <= size; i += kLanes)
#pragma unroll
      for (int64_t g = 0; g < groups; ++g) {
        Vector v[kLanes];
#pragma unroll
        for (int64_t l = 0; l < kLanes; ++l) {
          v[l] = Type::loadVector(line[g * kLanes + l] + i);
          __builtin_prefetch(line[g * kLanes + l] + i + ahead, 0, 0);
        }
        transposeVectors<kLanes / 2>(v);
#pragma unroll
        for (int64_t l = 0; l < kLanes; ++l)
          sum[g] += vector[i + l] * v[l];
      }
    for (; i < size; ++i)
      for (int64_t g = 0; g < groups; ++g) {
        Vector terms;
        for (int64_t l = 0; l < kLanes; ++l)
          terms[l] = loadFirst<Type>(line[g * kLanes + l] + i, 1)[0];
        sum[g] += vector[i] * terms;
      }
    for (int64_t g = 0; g < groups; ++g) {
      int64_t at = first + g * kLanes, count = lines - at;
      if (count <= 0)
        break;
      if (adds)
        sum[g] += loadFirst<F32>(sums + at, count);
      storeFirst(sums + at, sum[g], count);
    }
  }
}

/// Lines whose elements at one position are contiguous, several positions at a
/// time, for which a sum is loaded and stored once.
template <typename Type>
void multiplyAcross(const typename Type::Element *matrix, int64_t innerStride,
                    int64_t lines, int64_t size, const float *vector,
                    float *sums, bool adds) {
  alignas(64) float part[kGemvMostLines];
  for (int64_t l = 0; l < lines; ++l)
    part[l] = 0;
  constexpr int64_t positions = 4;
  int64_t whole = lines / kLanes * kLanes;
  auto multiplyPositions = [&](int64_t i, auto count) {
    const typename Type::Element *from = matrix + i * innerStride;
    for (int64_t l = 0; l < whole; l += kLanes) {
      Vector sum = load(part + l);
#pragma unroll
      for (int p = 0; p < count; ++p) {
        const typename Type::Element *at = from + p * innerStride + l;
        sum += vector[i + p] * Type::loadVector(at);
        __builtin_prefetch(at + positions * innerStride, 0, 0);
      }
      store(part + l, sum);
    }
    if (whole == lines)
      return;
    Vector sum = loadFirst<F32>(part + whole, lines - whole);
#pragma unroll
    for (int p = 0; p < count; ++p)
      sum += vector[i + p] *
             loadFirst<Type>(from + p * innerStride + whole, lines - whole);
    storeFirst(part + whole, sum, lines - whole);
  };
  int64_t i = 0;
  for (; i + positions <= size; i += positions)
    multiplyPositions(i, Constant<positions>());
  for (; i < size; ++i)
    multiplyPositions(i, Constant<1>());
  for (int64_t l = 0; l < lines; ++l)
    sums[l] = adds ? part[l] + sums[l] : part[l];
}

template <typename Type>
void multiplyLines(const typename Type::Element *matrix, int64_t lineStride,
                   int64_t innerStride, int64_t lines, int64_t size,
                   const float *vector, float *sums, bool adds) {
  if (innerStride == 1)
    return multiplyAlong<Type>(matrix, lineStride, lines, size, vector, sums,
                               adds);
  multiplyAcross<Type>(matrix, innerStride, lines, size, vector, sums, adds);
}

/// The vector in f32, in `room` if it is not already.
const float *widenVector(Elements vector, int64_t size, float *room) {
  if (vector.type == INGOT_F32)
    return static_cast<const float *>(vector.data);
  const auto *from = static_cast<const uint16_t *>(vector.data);
  for (int64_t i = 0; i < size; i += kLanes) {
    int64_t count = size - i;
    storeFirst(room + i,
               vector.type == INGOT_BF16 ? loadFirst<Bf16>(from + i, count)
                                         : loadFirst<F16>(from + i, count),
               count);
  }
  return room;
}

void multiplyVector(Elements matrix, int64_t lineStride, int64_t innerStride,
                    int64_t lines, Elements vector, int64_t size, float *sums,
                    bool adds) {
  alignas(64) float room[kBlocking.getMostInner()];
  const float *widened = widenVector(vector, size, room);
  const int64_t parts = countParts(size);
  withType(matrix, [&](auto type, const auto *from) {
    for (int64_t part = 0, start = 0; part < parts; ++part) {
      int64_t end = size * (part + 1) / parts;
      multiplyLines<decltype(type)>(from + start * innerStride, lineStride,
                                    innerStride, lines, end - start,
                                    widened + start, sums, adds || part != 0);
      start = end;
    }
  });
}

} // namespace
} // namespace ingot::runtime::gemm

#endif // INGOT_RUNTIME_CPU_GEMM_KERNELS_VECTORGEMV_H
