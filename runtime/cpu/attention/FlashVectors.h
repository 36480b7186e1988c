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

#include "runtime/cpu/gemm/kernels/VectorTile.h"

namespace ingot::runtime::flash {
using namespace vectors;
namespace {

constexpr float kInfinity = __builtin_inff();

/// Scores are in units of log(2), so that weights are powers of two.
constexpr float kLog2E = 1.44269504088896341f, kLog2 = 0.693147180559945309f;

/// 2^x for x <= 0 and -infinity, as 2^n times a polynomial in the rest, with an
/// error below 2 ulp; 0 below -126.
inline Vector exponential2(Vector x) {
  // The sum's lowest bits are n and the bias of an exponent.
  Vector rounder = Vector{} + (12582912.0f + 127); // 1.5 * 2^23
  Vector shifted = x + rounder;
  Vector r = x - (shifted - rounder);
  Vector p = Vector{} + 1.5353361e-4f;
  p = p * r + 1.33988750e-3f;
  p = p * r + 9.61843692e-3f;
  p = p * r + 5.55033237e-2f;
  p = p * r + 2.40226477e-1f;
  p = p * r + 6.93147182e-1f;
  p = p * r + 1.0f;
  Words power = reinterpret_cast<Words &>(shifted) << 23;
  Vector y = p * reinterpret_cast<Vector &>(power);
  return x < -126.0f ? Vector{} : y;
}

/// log(x) for normal positive numbers, with an error below 2 ulp (S. Moshier's
/// Cephes).
inline Vector logarithm(Vector x) {
  // x is m * 2^e with m from the root of a half to that of 2.
  Integers bits = reinterpret_cast<Integers &>(x);
  Integers exponent = (bits - 0x3f3504f3) >> 23;
  bits -= exponent << 23;
  Vector m = reinterpret_cast<Vector &>(bits) - 1.0f;
  Vector e = __builtin_convertvector(exponent, Vector), square = m * m;
  Vector p = Vector{} + 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  p = p * m * square + e * -2.12194440e-4f - square * 0.5f;
  return m + p + e * 0.693359375f;
}

} // namespace
} // namespace ingot::runtime::flash

#endif // INGOT_RUNTIME_CPU_ATTENTION_FLASHVECTORS_H
