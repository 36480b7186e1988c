// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Elementwise ops: docs/spec/elementwise.md.
//===----------------------------------------------------------------------===//

#include "dialects/reference/Registry.h"

#include <cmath>
#include <limits>

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

/// An op of one operand on floats and integers.
template <typename OpT, typename Real, typename Integer>
static void addUnary(Registry &registry, Real real, Integer integer) {
  registry.add<OpT>([=](OpT, Operands in, Results out) {
    for (int64_t i = 0, e = out[0].size(); i < e; ++i) {
      if (out[0].isFloat())
        out[0].real(i) = real(in[0].real(i));
      else
        out[0].integer(i) = integer(in[0].integer(i));
    }
  });
}

/// An op of two operands on floats and integers.
template <typename OpT, typename Real, typename Integer>
static void addBinary(Registry &registry, Real real, Integer integer) {
  registry.add<OpT>([=](OpT, Operands in, Results out) {
    for (int64_t i = 0, e = out[0].size(); i < e; ++i) {
      if (out[0].isFloat())
        out[0].real(i) = real(in[0].real(i), in[1].real(i));
      else
        out[0].integer(i) = integer(in[0].integer(i), in[1].integer(i));
    }
  });
}

/// An op of two booleans.
template <typename OpT, typename Boolean>
static void addLogical(Registry &registry, Boolean boolean) {
  registry.add<OpT>([=](OpT, Operands in, Results out) {
    for (int64_t i = 0, e = out[0].size(); i < e; ++i)
      out[0].integer(i) = boolean(in[0].integer(i) != 0, in[1].integer(i) != 0);
  });
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
  addUnary<NegOp>(registry, [](double x) { return -x; }, negate);
  addUnary<AbsOp>(
      registry, [](double x) { return std::fabs(x); },
      [](int64_t x) { return x < 0 ? negate(x) : x; });
  addUnary<SignOp>(
      registry, [](double x) { return x > 0   ? 1.0
                                      : x < 0 ? -1.0
                                              : x; },
      [](int64_t x) { return static_cast<int64_t>((x > 0) - (x < 0)); });
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
  addReal<LogisticOp>(registry,
                      [](double x) { return 1 / (1 + std::exp(-x)); });
  registry.add<NotOp>([](NotOp, Operands in, Results out) {
    for (int64_t i = 0, e = out[0].size(); i < e; ++i)
      out[0].integer(i) = in[0].integer(i) == 0;
  });
}

static void registerBinary(Registry &registry) {
  addBinary<AddOp>(
      registry, [](double a, double b) { return a + b; },
      [](int64_t a, int64_t b) { return wrapping(a, b, std::plus<>()); });
  addBinary<SubOp>(
      registry, [](double a, double b) { return a - b; },
      [](int64_t a, int64_t b) { return wrapping(a, b, std::minus<>()); });
  addBinary<MulOp>(
      registry, [](double a, double b) { return a * b; },
      [](int64_t a, int64_t b) { return wrapping(a, b, std::multiplies<>()); });
  addBinary<DivOp>(
      registry, [](double a, double b) { return a / b; },
      [](int64_t a, int64_t b) {
        // The lowest value by -1 wraps, and traps on most machines.
        return b == 0 ? 0 : b == -1 ? negate(a) : a / b;
      });
  addBinary<MaxOp>(registry, maximum,
                   [](int64_t a, int64_t b) { return std::max(a, b); });
  addBinary<MinOp>(
      registry, [](double a, double b) { return -maximum(-a, -b); },
      [](int64_t a, int64_t b) { return std::min(a, b); });
  addBinary<RemOp>(
      registry, [](double a, double b) { return std::fmod(a, b); },
      [](int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; });
  registry.add<PowOp>([](PowOp, Operands in, Results out) {
    for (int64_t i = 0, e = out[0].size(); i < e; ++i)
      out[0].real(i) = std::pow(in[0].real(i), in[1].real(i));
  });
  addLogical<AndOp>(registry, [](bool a, bool b) { return a && b; });
  addLogical<OrOp>(registry, [](bool a, bool b) { return a || b; });
  addLogical<XorOp>(registry, [](bool a, bool b) { return a != b; });
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
          in[0].isFloat()
              ? holds(predicate, in[0].real(i), in[1].real(i))
              : holds(predicate, in[0].integer(i), in[1].integer(i));
  });
  registry.add<SelectOp>([](SelectOp, Operands in, Results out) {
    for (int64_t i = 0, e = out[0].size(); i < e; ++i)
      out[0].copy(i, in[0].integer(i) ? in[1] : in[2], i);
  });
  registry.add<StochasticRoundOp>(
      [](StochasticRoundOp, Operands in, Results out) {
        for (int64_t i = 0, e = out[0].size(); i < e; ++i)
          out[0].real(i) = roundByChance(in[0].real(i), in[1].real(i));
      });
  registry.add<CastOp>([](CastOp op, Operands in, Results out) {
    out[0] = in[0].converted(op.getType().getElementType());
  });
}
