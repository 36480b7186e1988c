// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Vectors of f32 by the compiler's vector extensions, for kernels that are
// written once and compiled for each instruction set.
//
// The file that includes this header, or headers that build on it, sets
// INGOT_LANES, the lanes of a vector, and the target of the functions that
// follow. Every function here and there is therefore internal (in a namespace
// without a name), and whatever is shared, the standard library included, is
// included before the target is set.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_VECTORS_VECTORS_H
#define INGOT_RUNTIME_CPU_VECTORS_VECTORS_H

#if !defined(INGOT_LANES) || !defined(INGOT_RUNTIME_CPU_VECTORS_VECTORTYPES_H)
#error "include VectorTypes.h, then define INGOT_LANES"
#endif

namespace ingot::runtime::vectors {
namespace {

/// Elements of a vector.
constexpr int64_t kLanes = INGOT_LANES;
using Vector __attribute__((vector_size(INGOT_LANES * 4), aligned(4))) = float;
using Integers __attribute__((vector_size(INGOT_LANES * 4), aligned(4))) = int;
using Words __attribute__((vector_size(INGOT_LANES * 4), aligned(4))) =
    unsigned;
using HalfWords __attribute__((vector_size(INGOT_LANES * 2), aligned(2))) =
    unsigned short;
using Bytes __attribute__((vector_size(INGOT_LANES), aligned(1))) = char;

inline Vector load(const float *p) {
  return *reinterpret_cast<const Vector *>(p);
}
inline void store(float *p, Vector v) { *reinterpret_cast<Vector *>(p) = v; }
/// Stores past the caches, without reading the line first: `p` is a multiple of
/// a vector's bytes, and std::atomic_thread_fence comes before others read it.
inline void stream(float *p, Vector v) {
  using Aligned __attribute__((vector_size(INGOT_LANES * 4))) = float;
  __builtin_nontemporal_store(reinterpret_cast<Aligned &>(v),
                              reinterpret_cast<Aligned *>(p));
}

/// Exchanges lanes: lane l of the result is lane l ^ Step of `v`.
template <int Step, int... L>
inline Vector exchangeLanes(Vector v, Sequence<L...>) {
  return __builtin_shufflevector(v, v, (L ^ Step)...);
}

/// Combines one half of the lanes with the other until one lane is left.
template <int Step = INGOT_LANES / 2, typename Combine>
inline float foldLanes(Vector v, Combine combine) {
  v = combine(v, exchangeLanes<Step>(v, Lanes<INGOT_LANES>()));
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

/// Which lane of two vectors goes to lane l where blocks of `Step` lanes are
/// exchanged.
template <int Step, bool Second> constexpr int takenLane(int l) {
  bool isUpper = (l & Step) != 0;
  return Second ? (isUpper ? l + INGOT_LANES : l + Step)
                : (isUpper ? l - Step + INGOT_LANES : l);
}

template <int Step, bool Second, int... L>
inline Vector takeLanes(Vector a, Vector b, Sequence<L...>) {
  return __builtin_shufflevector(a, b, takenLane<Step, Second>(L)...);
}

/// Transposes a square of vectors: exchanges the blocks off the diagonal, first
/// those of `Step` lanes, then smaller ones.
template <int Step> inline void transposeVectors(Vector (&v)[INGOT_LANES]) {
#pragma unroll
  for (int i = 0; i < INGOT_LANES; ++i)
    if (!(i & Step)) {
      Vector a = v[i], b = v[i + Step];
      v[i] = takeLanes<Step, false>(a, b, Lanes<INGOT_LANES>());
      v[i + Step] = takeLanes<Step, true>(a, b, Lanes<INGOT_LANES>());
    }
  if constexpr (Step > 1)
    transposeVectors<Step / 2>(v);
}

/// Widens 16-bit numbers, which is exact.
inline Vector widenBf16(HalfWords halves) {
  Words bits = __builtin_convertvector(halves, Words) << 16;
  return reinterpret_cast<Vector &>(bits);
}
inline Vector widenF16(HalfWords halves) {
#if INGOT_LANES > 4 || defined(__aarch64__)
  using Halves __attribute__((vector_size(INGOT_LANES * 2), aligned(2))) =
      _Float16;
  return __builtin_convertvector(reinterpret_cast<Halves &>(halves), Vector);
#else
  // The magnitude's bits, read as f32, are 2^112 too small; multiplying also
  // normalizes what is subnormal in f16.
  Words words = __builtin_convertvector(halves, Words);
  Words magnitude = words & 0x7fffu, shifted = magnitude << 13;
  Vector scaled = reinterpret_cast<Vector &>(shifted) * 0x1p112f;
  Integers special = magnitude >= 0x7c00u;
  Words bits = reinterpret_cast<Words &>(scaled) |
               (reinterpret_cast<Words &>(special) & 0x7f800000u) |
               (words & 0x8000u) << 16;
  return reinterpret_cast<Vector &>(bits);
#endif
}

/// Rounds to 16-bit numbers, to nearest even; NaN stays NaN.
inline HalfWords narrowBf16(Vector v) {
  Words bits = reinterpret_cast<Words &>(v);
  Words rounded = bits + (bits >> 16 & 1u) + 0x7fffu;
  Integers isNan = (bits & 0x7fffffffu) > 0x7f800000u;
  return __builtin_convertvector((isNan ? bits | 0x400000u : rounded) >> 16,
                                 HalfWords);
}
inline HalfWords narrowF16(Vector v) {
#if INGOT_LANES > 4 || defined(__aarch64__)
  using Halves __attribute__((vector_size(INGOT_LANES * 2), aligned(2))) =
      _Float16;
  Halves halves = __builtin_convertvector(v, Halves);
  return reinterpret_cast<HalfWords &>(halves);
#else
  Words bits = reinterpret_cast<Words &>(v), magnitude = bits & 0x7fffffffu;
  // Normal numbers: rebias, then round away the 13 low bits.
  Words normal =
      (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  // Subnormal ones: an addition aligns the digits and rounds them.
  Vector shifted = reinterpret_cast<Vector &>(magnitude) + 0.5f;
  Words subnormal = reinterpret_cast<Words &>(shifted) - 0x3f000000u;
  Words infinity = Words{} + 0x7c00u, nan = Words{} + 0x7e00u;
  Words result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x47800000u ? infinity : result;
  result = magnitude > 0x7f800000u ? nan : result;
  return __builtin_convertvector(result | (bits >> 16 & 0x8000u), HalfWords);
#endif
}

} // namespace
} // namespace ingot::runtime::vectors

#endif // INGOT_RUNTIME_CPU_VECTORS_VECTORS_H
