// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Elements of operands as f32 in vector registers of AVX-512.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_GEMM_KERNELS_AVX512LANES_H
#define INGOT_RUNTIME_CPU_GEMM_KERNELS_AVX512LANES_H

#include "runtime/abi/Abi.h"
#include "runtime/cpu/gemm/kernels/GemmKernels.h"

#include <immintrin.h>

#define INGOT_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))

namespace ingot::runtime::gemm {

inline constexpr int64_t kLanes = 16;

INGOT_AVX512 inline __mmask16 firstLanes(int64_t count) {
  return static_cast<__mmask16>(count >= kLanes ? 0xffffu : (1u << count) - 1u);
}

// How to load 16 elements, or those of a mask, as f32.
struct F32 {
  using Element = float;
  INGOT_AVX512 static __m512 load(const float *from) {
    return _mm512_loadu_ps(from);
  }
  INGOT_AVX512 static __m512 load(__mmask16 mask, const float *from) {
    return _mm512_maskz_loadu_ps(mask, from);
  }
};

struct Bf16 {
  INGOT_AVX512 static __m512 widen(__m256i halves) {
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
};

struct F16 {
  INGOT_AVX512 static __m512 widen(__m256i halves) {
    return _mm512_cvtph_ps(halves);
  }
};

template <typename Half> struct Widening {
  using Element = uint16_t;
  INGOT_AVX512 static __m512 load(const uint16_t *from) {
    return Half::widen(_mm256_loadu_epi16(from));
  }
  INGOT_AVX512 static __m512 load(__mmask16 mask, const uint16_t *from) {
    return Half::widen(_mm256_maskz_loadu_epi16(mask, from));
  }
};

/// Transposes 16 vectors: row i becomes lane i of every vector.
INGOT_AVX512 inline void transpose(__m512 (&v)[kLanes]) {
  __m512 t[kLanes];
#pragma unroll
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(v[i], v[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(v[i], v[i + 1]);
  }
#pragma unroll
  for (int i = 0; i < 16; i += 4) {
    v[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
    v[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
    v[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    v[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  // v[4q + r] holds columns r, r + 4, r + 8, r + 12 of rows 4q to 4q + 3.
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    t[r] = _mm512_shuffle_f32x4(v[r], v[4 + r], 0x88);
    t[4 + r] = _mm512_shuffle_f32x4(v[r], v[4 + r], 0xdd);
    t[8 + r] = _mm512_shuffle_f32x4(v[8 + r], v[12 + r], 0x88);
    t[12 + r] = _mm512_shuffle_f32x4(v[8 + r], v[12 + r], 0xdd);
  }
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    v[r] = _mm512_shuffle_f32x4(t[r], t[8 + r], 0x88);
    v[8 + r] = _mm512_shuffle_f32x4(t[r], t[8 + r], 0xdd);
    v[4 + r] = _mm512_shuffle_f32x4(t[4 + r], t[12 + r], 0x88);
    v[12 + r] = _mm512_shuffle_f32x4(t[4 + r], t[12 + r], 0xdd);
  }
}

/// Calls the function with a type that loads the elements, and with their
/// address.
template <typename Function> void visit(Elements elements, Function function) {
  switch (elements.type) {
  case INGOT_BF16:
    return function(Widening<Bf16>(),
                    static_cast<const uint16_t *>(elements.data));
  case INGOT_F16:
    return function(Widening<F16>(),
                    static_cast<const uint16_t *>(elements.data));
  default:
    return function(F32(), static_cast<const float *>(elements.data));
  }
}

} // namespace ingot::runtime::gemm

#endif // INGOT_RUNTIME_CPU_GEMM_KERNELS_AVX512LANES_H
