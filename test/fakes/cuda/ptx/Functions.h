// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The functions of the instructions of the PTX ISA, for the value of one lane.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_PTX_FUNCTIONS_H
#define INGOT_TEST_FAKES_CUDA_PTX_FUNCTIONS_H

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace fakes::ptx {

struct Add {
  template <typename T> T operator()(T a, T b) const { return a + b; }
};
struct Sub {
  template <typename T> T operator()(T a, T b) const { return a - b; }
};
struct Mul {
  template <typename T> T operator()(T a, T b) const { return a * b; }
};
struct Div {
  template <typename T> T operator()(T a, T b) const { return a / b; }
};
/// The quotient of integers: division by 0 gives some value.
struct Quotient {
  template <typename T> T operator()(T a, T b) const {
    if (b == 0)
      return T(-1);
    return b == T(-1) ? T(0 - a) : T(a / b);
  }
};
struct Remainder {
  template <typename T> T operator()(T a, T b) const {
    return b == 0 ? a : b == T(-1) && std::is_signed_v<T> ? T(0) : T(a % b);
  }
};
struct MulHi16 {
  template <typename T> T operator()(T a, T b) const {
    return static_cast<T>(int64_t(a) * b >> 16);
  }
};
struct MulHiU {
  uint32_t operator()(uint32_t a, uint32_t b) const {
    return static_cast<uint32_t>(uint64_t(a) * b >> 32);
  }
};
struct MulHiS {
  int32_t operator()(int32_t a, int32_t b) const {
    return static_cast<int32_t>(int64_t(a) * b >> 32);
  }
};
struct MulHi64 {
  uint64_t operator()(uint64_t a, uint64_t b) const {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> 64);
  }
  int64_t operator()(int64_t a, int64_t b) const {
    return static_cast<int64_t>(static_cast<__int128>(a) * b >> 64);
  }
};
template <typename R> struct MulWide {
  template <typename T> R operator()(T a, T b) const { return R(a) * R(b); }
};
struct Mad {
  template <typename T, typename C> C operator()(T a, T b, C c) const {
    return static_cast<C>(C(a) * C(b) + c);
  }
};
struct Fma {
  float operator()(float a, float b, float c) const {
    return __builtin_fmaf(a, b, c);
  }
  double operator()(double a, double b, double c) const {
    return __builtin_fma(a, b, c);
  }
};
struct FmaTowardsZero {
  float operator()(float a, float b, float c) const {
    // The product is exact; of the sum, what fp64 rounds off decides.
    double product = static_cast<double>(a) * b;
    double sum = product + c;
    double rest = std::fabs(product) > std::fabs(c) ? (product - sum) + c
                                                    : (c - sum) + product;
    auto nearest = static_cast<float>(sum);
    double error = static_cast<double>(nearest) - sum;
    bool isBeyond = error == 0
                        ? std::signbit(rest) != std::signbit(sum) && rest != 0
                        : std::signbit(error) == std::signbit(sum);
    return isBeyond && std::isfinite(nearest) && nearest != 0
               ? std::nextafterf(nearest, 0)
               : nearest;
  }
};
struct Min {
  template <typename T> T operator()(T a, T b) const { return a < b ? a : b; }
};
struct Max {
  template <typename T> T operator()(T a, T b) const { return a > b ? a : b; }
};
/// The larger or smaller number; of a number and NaN, the number; +0 is above
/// -0.
template <bool keepsNaN, bool isMax> struct Extreme {
  template <typename T> T operator()(T a, T b) const {
    if (a != a || b != b) {
      if (keepsNaN)
        return std::numeric_limits<T>::quiet_NaN();
      return a != a ? b : a;
    }
    if (a == b)
      return std::signbit(a) == isMax ? b : a;
    return (a > b) == isMax ? a : b;
  }
};
struct And {
  template <typename T> T operator()(T a, T b) const { return a & b; }
};
struct Or {
  template <typename T> T operator()(T a, T b) const { return a | b; }
};
struct Xor {
  template <typename T> T operator()(T a, T b) const { return a ^ b; }
};
struct Not {
  template <typename T> T operator()(T a) const { return ~a; }
};
struct Neg {
  template <typename T> T operator()(T a) const { return -a; }
};
struct Abs {
  template <typename T> T operator()(T a) const {
    if constexpr (std::is_integral_v<T>)
      return a < 0 ? T(0 - a) : a;
    else
      return std::fabs(a);
  }
};
/// The sign of the first operand, the rest of the second.
struct CopySign {
  template <typename T> T operator()(T a, T b) const {
    return std::copysign(b, a);
  }
};
struct Sqrt {
  template <typename T> T operator()(T a) const { return std::sqrt(a); }
};
/// Within the documented error of an approximation, and never exact by luck:
/// rounded towards zero.
inline float truncate(double value) {
  auto nearest = static_cast<float>(value);
  return std::fabs(nearest) > std::fabs(value) ? std::nextafterf(nearest, 0)
                                               : nearest;
}
struct SqrtApprox {
  float operator()(float a) const {
    return truncate(std::sqrt(static_cast<double>(a)));
  }
};
struct Rsqrt {
  float operator()(float a) const {
    return truncate(1 / std::sqrt(static_cast<double>(a)));
  }
};
struct Rcp {
  template <typename T> T operator()(T a) const { return 1 / a; }
};
/// The upper word of the result only; subnormal numbers count as 0.
struct RcpApprox64 {
  double operator()(double a) const {
    auto flush = [](double value) {
      return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0, value)
                                                    : value;
    };
    double result = flush(1 / flush(a));
    constexpr uint64_t upper = ~uint64_t(0) << 32;
    return std::bit_cast<double>(std::bit_cast<uint64_t>(result) & upper);
  }
};
struct RcpApprox {
  float operator()(float a) const {
    return truncate(1 / static_cast<double>(a));
  }
};
struct DivApprox {
  float operator()(float a, float b) const {
    return truncate(static_cast<double>(a) / b);
  }
};
/// Subnormal numbers count as 0, and become 0.
template <typename F> struct Flushed {
  static float flush(float value) {
    return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value)
                                                  : value;
  }
  float operator()(float a) const { return flush(F()(flush(a))); }
};
/// Anywhere within the documented relative error of 2^-22, as the bits of the
/// operand draw: two to four units of the last place.
struct Ex2 {
  float operator()(float a) const {
    // As documented.
    if (a == 0)
      return 1;
    auto bits = std::bit_cast<uint32_t>(a);
    bits = (bits ^ bits >> 15) * 0x9E3779B1U;
    bits ^= bits >> 13;
    double share = static_cast<double>(bits) * 0x1p-31 - 1;
    // Rounding adds 2^-24 at most.
    double error = share * (0x1p-22 - 0x1p-24);
    return static_cast<float>(std::exp2(static_cast<double>(a)) * (1 + error));
  }
};
/// To nearest with ties to even; NaN as the hardware gives it.
struct RoundToBfloat {
  uint16_t operator()(float a) const {
    auto bits = std::bit_cast<uint32_t>(a);
    if (a != a)
      return 0x7FFF;
    return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
  }
};
struct Lg2 {
  float operator()(float a) const {
    return truncate(std::log2(static_cast<double>(a)));
  }
};
struct ShiftLeft {
  template <typename T> T operator()(T a, uint32_t by) const {
    return by >= 8 * sizeof(T) ? T(0) : T(a << by);
  }
};
struct ShiftRight {
  template <typename T> T operator()(T a, uint32_t by) const {
    by = std::min<uint32_t>(by, 8 * sizeof(T));
    if (by == 8 * sizeof(T))
      return std::is_signed_v<T> && a < 0 ? T(-1) : T(0);
    return T(a >> by);
  }
};
struct ExtractBits {
  template <typename T> T operator()(T a, uint32_t from, uint32_t count) const {
    constexpr uint32_t bits = 8 * sizeof(T);
    from &= 255;
    count &= 255;
    T shifted = from >= bits ? 0 : a >> from;
    return count >= bits ? shifted : shifted & ((T(1) << count) - 1);
  }
};
/// Bits above those that are taken have the sign of the last of them.
struct ExtractSigned {
  template <typename T> T operator()(T a, uint32_t from, uint32_t count) const {
    constexpr uint32_t bits = 8 * sizeof(T);
    from &= 255;
    count &= 255;
    if (count == 0)
      return 0;
    T shifted = a >> std::min(from, bits - 1);
    if (count >= bits)
      return shifted;
    auto raised = static_cast<std::make_unsigned_t<T>>(shifted)
                  << (bits - count);
    return static_cast<T>(raised) >> (bits - count);
  }
};
struct PermuteBytes {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t selector) const {
    uint64_t bytes = uint64_t(b) << 32 | a;
    uint32_t result = 0;
    for (int i = 0; i < 4; ++i) {
      uint32_t which = selector >> 4 * i & 15;
      uint32_t byte = bytes >> 8 * (which & 7) & 255;
      if (which & 8)
        byte = byte & 128 ? 255 : 0;
      result |= byte << 8 * i;
    }
    return result;
  }
};
struct FunnelLeft {
  uint32_t operator()(uint32_t low, uint32_t high, uint32_t by) const {
    uint64_t both = uint64_t(high) << 32 | low;
    return static_cast<uint32_t>(both << (by & 31) >> 32);
  }
};
struct FunnelRight {
  uint32_t operator()(uint32_t low, uint32_t high, uint32_t by) const {
    uint64_t both = uint64_t(high) << 32 | low;
    return static_cast<uint32_t>(both >> (by & 31));
  }
};

#define COMPARISON(name, condition)                                            \
  struct name {                                                                \
    template <typename T> bool operator()(T a, T b) const {                    \
      return condition;                                                        \
    }                                                                          \
  };
COMPARISON(Equal, a == b)
COMPARISON(NotEqual, a<b || a> b)
COMPARISON(Less, a < b)
COMPARISON(LessEqual, a <= b)
COMPARISON(Greater, a > b)
COMPARISON(GreaterEqual, a >= b)
COMPARISON(EqualOrNaN, !(a < b || a > b))
COMPARISON(NotEqualOrNaN, !(a == b))
COMPARISON(LessOrNaN, !(a >= b))
COMPARISON(LessEqualOrNaN, !(a > b))
COMPARISON(GreaterOrNaN, !(a <= b))
COMPARISON(GreaterEqualOrNaN, !(a < b))
COMPARISON(AreNumbers, a == a && b == b)
COMPARISON(HaveNaN, a != a || b != b)
#undef COMPARISON

} // namespace fakes::ptx

#endif // INGOT_TEST_FAKES_CUDA_PTX_FUNCTIONS_H
