// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Vectors of f32 and their functions, by the compiler's vector extensions.
//
// This header and those that include it (FlashTiles.h, FlashDropout.h,
// FlashScores.h, FlashForward.h, FlashBackward.h) are compiled once per
// instruction set: the file that includes them sets FLASH_LANES, the lanes of a
// vector, and the target of the functions that follow. Every function in them
// is therefore internal (in a namespace without a name), and whatever is
// shared, the standard library included, is included before the target is set.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_ATTENTION_FLASHVECTORS_H
#define INGOT_RUNTIME_CPU_ATTENTION_FLASHVECTORS_H

#if !defined(FLASH_LANES) ||                                                   \
    !defined(INGOT_RUNTIME_CPU_ATTENTION_FLASHKERNELS_H)
#error "include FlashKernels.h, then define FLASH_LANES"
#endif

namespace ingot::runtime::flash {
namespace {

/// Elements of a vector.
constexpr int64_t kLanes = FLASH_LANES;
using Vector __attribute__((vector_size(FLASH_LANES * 4), aligned(4))) = float;
using Integers __attribute__((vector_size(FLASH_LANES * 4), aligned(4))) = int;
using Bytes __attribute__((vector_size(FLASH_LANES), aligned(1))) = char;

/// The tile of a product whose sums stay in registers: 24 of 32, or 12 of 16.
constexpr int kTileRows =
    FLASH_LANES == 16 ? int(abi::kVectorBlocking.tileRows) : 6;
constexpr int64_t kTileColumns = 2 * kLanes;

constexpr float kInfinity = __builtin_inff();

inline Vector load(const float *p) {
  return *reinterpret_cast<const Vector *>(p);
}
inline void store(float *p, Vector v) { *reinterpret_cast<Vector *>(p) = v; }

/// Exchanges lanes: lane l of the result is lane l ^ Step of `v`.
template <int Step, int... L>
inline Vector exchangeLanes(Vector v, Sequence<L...>) {
  return __builtin_shufflevector(v, v, (L ^ Step)...);
}

/// Combines one half of the lanes with the other until one lane is left.
template <int Step = FLASH_LANES / 2, typename Combine>
inline float foldLanes(Vector v, Combine combine) {
  v = combine(v, exchangeLanes<Step>(v, Lanes<FLASH_LANES>()));
  if constexpr (Step > 1)
    return foldLanes<Step / 2>(v, combine);
  return v[0];
}

inline float sumLanes(Vector v) {
  return foldLanes(v, [](Vector a, Vector b) { return a + b; });
}
inline float maxLanes(Vector v) {
  return foldLanes(v, [](Vector a, Vector b) { return a > b ? a : b; });
}

/// exp(x) for x <= 0 and -infinity, as 2^n times a polynomial in the rest, with
/// an error below 2 ulp; 0 below -87.
inline Vector exponential(Vector x) {
  Vector t = x * 1.44269504088896341f;
  Vector rounder = Vector{} + 12582912.0f; // 1.5 * 2^23
  Vector clamped = t < -126.0f ? Vector{} - 126.0f : t;
  Vector n = (clamped + rounder) - rounder;
  Vector safe = x < -87.0f ? Vector{} - 87.0f : x;
  Vector r = (safe - n * 0.693359375f) - n * -2.12194440e-4f;
  Vector p = Vector{} + 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  Integers bits = (__builtin_convertvector(n, Integers) + 127) << 23;
  Vector y = p * reinterpret_cast<Vector &>(bits);
  return x < -87.0f ? Vector{} : y;
}

} // namespace
} // namespace ingot::runtime::flash

#endif // INGOT_RUNTIME_CPU_ATTENTION_FLASHVECTORS_H
