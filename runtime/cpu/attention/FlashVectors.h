// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The vectors of attention's kernels.
//
// This header and those that include it (FlashTiles.h, FlashDropout.h,
// FlashScores.h, FlashForward.h, FlashBackward.h) are compiled once per
// instruction set: see Vectors.h.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_ATTENTION_FLASHVECTORS_H
#define INGOT_RUNTIME_CPU_ATTENTION_FLASHVECTORS_H

#include "runtime/cpu/gemm/VectorTile.h"

namespace ingot::runtime::flash {
using namespace vectors;
namespace {

constexpr float kInfinity = __builtin_inff();

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
