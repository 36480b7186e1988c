// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Elementwise ops: docs/spec/elementwise.md.
//===----------------------------------------------------------------------===//

#include "dialects/reference/Registry.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;

/// A float op of one operand.
template <typename OpT, typename Real>
static void addReal(Registry &registry, Real real) {
  registry.add<OpT>([real](OpT, Operands in, Results out) {
    for (int64_t i = 0, e = out[0].size(); i < e; ++i)
      out[0].real(i) = real(in[0].real(i));
  });
}

/// Returns whether the elements are stored as int64_t but are not.
static bool isWide(const Tensor &tensor) {
  return tensor.getElementType().isUnsignedInteger(64);
}

/// An op of one operand on floats and integers; `integer` is generic, for
/// those of 64 bits without sign.
template <typename OpT, typename Real, typename Integer>
static void addUnary(Registry &registry, Real real, Integer integer) {
  registry.add<OpT>([=](OpT, Operands in, Results out) {
    for (int64_t i = 0, e = out[0].size(); i < e; ++i) {
      if (out[0].isFloat())
        out[0].real(i) = real(in[0].real(i));
      else if (isWide(out[0]))
        out[0].integer(i) = static_cast<int64_t>(
            integer(static_cast<uint64_t>(in[0].integer(i))));
      else
        out[0].integer(i) = integer(in[0].integer(i));
    }
  });
}

/// An op of two operands on floats and integers; `integer` is generic, for
/// those of 64 bits without sign.
template <typename OpT, typename Real, typename Integer>
static void addBinary(Registry &registry, Real real, Integer integer) {
  registry.add<OpT>([=](OpT, Operands in, Results out) {
    for (int64_t i = 0, e = out[0].size(); i < e; ++i) {
      if (out[0].isFloat())
        out[0].real(i) = real(in[0].real(i), in[1].real(i));
      else if (isWide(out[0]))
        out[0].integer(i) = static_cast<int64_t>(
            integer(static_cast<uint64_t>(in[0].integer(i)),
                    static_cast<uint64_t>(in[1].integer(i))));
      else
        out[0].integer(i) = integer(in[0].integer(i), in[1].integer(i));
    }
  });
}

/// An op on the bits of two integers or booleans.
template <typename OpT, typename Bits>
static void addBitwise(Registry &registry, Bits bits) {
  registry.add<OpT>([=](OpT, Operands in, Results out) {
    for (int64_t i = 0, e = out[0].size(); i < e; ++i)
      out[0].integer(i) = bits(in[0].integer(i), in[1].integer(i));
  });
}

/// Moves bits by places that are a number of an integer type of `width` bits.
static int64_t shiftLeft(int64_t x, int64_t places, unsigned width) {
  bool isInside = places >= 0 && places < width;
  return isInside ? static_cast<int64_t>(static_cast<uint64_t>(x) << places)
                  : 0;
}

static int64_t shiftRight(int64_t x, int64_t places, unsigned width,
                          bool isUnsigned) {
  bool isInside = places >= 0 && places < width;
  if (isUnsigned)
    return isInside ? static_cast<int64_t>(static_cast<uint64_t>(x) >> places)
                    : 0;
  return isInside ? x >> places : x < 0 ? -1 : 0;
}

/// Integer arithmetic wraps; signed overflow is undefined in C++.
template <typename Operation>
static int64_t wrapping(int64_t a, int64_t b, Operation operation) {
  return static_cast<int64_t>(
      operation(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
}

static int64_t negate(int64_t x) {
  return wrapping(0, x, [](uint64_t a, uint64_t b) { return a - b; });
}

static double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

template <typename T> static bool holds(Predicate predicate, T a, T b) {
  switch (predicate) {
  case Predicate::EQ:
    return a == b;
  case Predicate::NE:
    return a != b;
  case Predicate::LT:
    return a < b;
  case Predicate::LE:
    return a <= b;
  case Predicate::GT:
    return a > b;
  case Predicate::GE:
    return a >= b;
  }
  llvm_unreachable("unknown predicate");
}

static void registerUnary(Registry &registry) {
  addUnary<NegOp>(
      registry, [](double x) { return -x; }, [](auto x) { return negate(x); });
  addUnary<AbsOp>(
      registry, [](double x) { return std::fabs(x); },
      [](auto x) { return x < 0 ? decltype(x)(negate(x)) : x; });
  addUnary<SignOp>(
      registry, [](double x) { return x > 0   ? 1.0
                                      : x < 0 ? -1.0
                                              : x; },
      [](auto x) { return static_cast<int64_t>((x > 0) - (x < 0)); });
  addReal<FloorOp>(registry, [](double x) { return std::floor(x); });
  addReal<CeilOp>(registry, [](double x) { return std::ceil(x); });
  // The default rounding mode is to nearest even.
  addReal<RoundOp>(registry, [](double x) { return std::nearbyint(x); });
  addReal<ExpOp>(registry, [](double x) { return std::exp(x); });
  addReal<LogOp>(registry, [](double x) { return std::log(x); });
  addReal<Log1pOp>(registry, [](double x) { return std::log1p(x); });
  addReal<SqrtOp>(registry, [](double x) { return std::sqrt(x); });
  addReal<RsqrtOp>(registry, [](double x) { return 1 / std::sqrt(x); });
  addReal<TanhOp>(registry, [](double x) { return std::tanh(x); });
  addReal<ErfOp>(registry, [](double x) { return std::erf(x); });
  addReal<SinOp>(registry, [](double x) { return std::sin(x); });
  addReal<CosOp>(registry, [](double x) { return std::cos(x); });
  addReal<AtanOp>(registry, [](double x) { return std::atan(x); });
  addReal<LogisticOp>(registry,
                      [](double x) { return 1 / (1 + std::exp(-x)); });
  registry.add<NotOp>([](NotOp, Operands in, Results out) {
    for (int64_t i = 0, e = out[0].size(); i < e; ++i)
      out[0].integer(i) = out[0].getElementType().isInteger(1)
                              ? in[0].integer(i) == 0
                              : ~in[0].integer(i);
  });
}

static void registerBinary(Registry &registry) {
  addBinary<AddOp>(
      registry, [](double a, double b) { return a + b; },
      [](auto a, auto b) { return wrapping(a, b, std::plus<>()); });
  addBinary<SubOp>(
      registry, [](double a, double b) { return a - b; },
      [](auto a, auto b) { return wrapping(a, b, std::minus<>()); });
  addBinary<MulOp>(
      registry, [](double a, double b) { return a * b; },
      [](auto a, auto b) { return wrapping(a, b, std::multiplies<>()); });
  addBinary<DivOp>(
      registry, [](double a, double b) { return a / b; },
      [](auto a, auto b) {
        if constexpr (std::is_signed_v<decltype(b)>)
          // The lowest value by -1 wraps, and traps on most machines.
          if (b == -1)
            return negate(a);
        return b == 0 ? decltype(a)(0) : a / b;
      });
  addBinary<MaxOp>(registry, maximum,
                   [](auto a, auto b) { return std::max(a, b); });
  addBinary<MinOp>(
      registry, [](double a, double b) { return -maximum(-a, -b); },
      [](auto a, auto b) { return std::min(a, b); });
  addBinary<RemOp>(
      registry, [](double a, double b) { return std::fmod(a, b); },
      [](auto a, auto b) {
        if constexpr (std::is_signed_v<decltype(b)>)
          if (b == -1)
            return decltype(a)(0);
        return b == 0 ? decltype(a)(0) : a % b;
      });
  registry.add<PowOp>([](PowOp, Operands in, Results out) {
    for (int64_t i = 0, e = out[0].size(); i < e; ++i)
      out[0].real(i) = std::pow(in[0].real(i), in[1].real(i));
  });
  addBitwise<AndOp>(registry, std::bit_and<int64_t>());
  addBitwise<OrOp>(registry, std::bit_or<int64_t>());
  addBitwise<XorOp>(registry, std::bit_xor<int64_t>());
  registry.add<ShiftLeftOp>([](ShiftLeftOp, Operands in, Results out) {
    unsigned width = out[0].getElementType().getIntOrFloatBitWidth();
    for (int64_t i = 0, e = out[0].size(); i < e; ++i)
      out[0].integer(i) = shiftLeft(in[0].integer(i), in[1].integer(i), width);
  });
  registry.add<ShiftRightOp>([](ShiftRightOp, Operands in, Results out) {
    Type element = out[0].getElementType();
    for (int64_t i = 0, e = out[0].size(); i < e; ++i)
      out[0].integer(i) = shiftRight(in[0].integer(i), in[1].integer(i),
                                     element.getIntOrFloatBitWidth(),
                                     element.isUnsignedInteger());
  });
}

/// Rounded to bf16, whose numbers have 8 digits and, from 2^-126 down, one
/// distance.
static double roundByChance(double x, double drawn) {
  static constexpr double kLargest = 0x1.fep127;
  if (!std::isfinite(x) || x == 0)
    return x;
  double distance = std::ldexp(1.0, std::max(std::ilogb(x) - 7, -133));
  double magnitude = std::fabs(x);
  double nearer = std::floor(magnitude / distance) * distance;
  bool isUp = drawn + (magnitude - nearer) / distance >= 1;
  double rounded = isUp && nearer < kLargest ? nearer + distance : nearer;
  return std::copysign(rounded, x);
}

static void registerHalves(Registry &registry) {
  registry.add<UpperHalfOp>([](UpperHalfOp, Operands in, Results out) {
    for (int64_t i = 0, e = out[0].size(); i < e; ++i)
      out[0].real(i) = upperHalf(in[0].real(i));
  });
  registry.add<LowerHalfOp>([](LowerHalfOp, Operands in, Results out) {
    for (int64_t i = 0, e = out[0].size(); i < e; ++i)
      out[0].integer(i) = lowerHalf(in[0].real(i));
  });
  registry.add<JoinHalvesOp>([](JoinHalvesOp, Operands in, Results out) {
    for (int64_t i = 0, e = out[0].size(); i < e; ++i)
      out[0].real(i) = joinHalves(in[0].real(i), in[1].integer(i));
  });
}

void ingot::reference::registerElementwise(Registry &registry) {
  registerHalves(registry);
  registry.add<MagnitudeOp>([](MagnitudeOp, Operands in, Results out) {
    for (int64_t i = 0, e = out[0].size(); i < e; ++i)
      out[0].integer(i) =
          std::bit_cast<uint32_t>(static_cast<float>(std::abs(in[0].real(i)))) &
          0x7FFFFFFF;
  });
  registerUnary(registry);
  registerBinary(registry);
  registry.add<CompareOp>([](CompareOp op, Operands in, Results out) {
    Predicate predicate = op.getPredicate();
    for (int64_t i = 0, e = out[0].size(); i < e; ++i)
      out[0].integer(i) =
          in[0].isFloat() ? holds(predicate, in[0].real(i), in[1].real(i))
          : isWide(in[0])
              ? holds(predicate, static_cast<uint64_t>(in[0].integer(i)),
                      static_cast<uint64_t>(in[1].integer(i)))
              : holds(predicate, in[0].integer(i), in[1].integer(i));
  });
  registry.add<SelectOp>([](SelectOp, Operands in, Results out) {
    for (int64_t i = 0, e = out[0].size(); i < e; ++i)
      out[0].copy(i, in[0].integer(i) ? in[1] : in[2], i);
  });
  registry.add<StraightThroughOp>(
      [](StraightThroughOp, Operands in, Results out) { out[0] = in[1]; });
  registry.add<StochasticRoundOp>(
      [](StochasticRoundOp, Operands in, Results out) {
        for (int64_t i = 0, e = out[0].size(); i < e; ++i)
          out[0].real(i) = roundByChance(in[0].real(i), in[1].real(i));
      });
  registry.add<ReducePrecisionOp>([](ReducePrecisionOp op, Operands in,
                                     Results out) {
    auto to = cast<FloatType>(op.getTo());
    double largest =
        llvm::APFloat::getLargest(to.getFloatSemantics()).convertToDouble();
    for (int64_t i = 0, e = out[0].size(); i < e; ++i) {
      double x = in[0].real(i);
      out[0].real(i) = std::isnan(x)
                           ? x
                           : roundToFloat(std::clamp(x, -largest, largest), to);
    }
  });
  registry.add<BitcastOp>(
      [](BitcastOp, Operands in, Results out) -> llvm::Error {
        llvm::Expected<Tensor> same =
            Tensor::fromRawData(out[0].getType(), in[0].getRawData());
        if (!same)
          return same.takeError();
        out[0] = std::move(*same);
        return llvm::Error::success();
      });
  registry.add<CastOp>([](CastOp op, Operands in, Results out) {
    out[0] = in[0].converted(op.getType().getElementType());
  });
}
