// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How exact the vectorized f32 functions are, over all floats: every 4001st of
// them (INGOT_MATH_STRIDE sets another step), and those at the corners.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "passes/Registration.h"
#include "tools/ingot-eval/Compiled.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

using namespace mlir;
using namespace ingot;
using reference::Tensor;

namespace {
struct MathFunction {
  const char *name;
  Value (*build)(OpBuilder &builder, Location loc, Value x);
  double (*exact)(double x);
  /// The largest error, in units of the last place.
  double ulps;
};

void PrintTo(const MathFunction &function, std::ostream *os) {
  *os << function.name;
}

class CompiledMath : public ::testing::TestWithParam<MathFunction> {};
} // namespace

template <typename Op>
static Value build(OpBuilder &builder, Location loc, Value x) {
  return Op::create(builder, loc, x.getType(), x);
}

template <typename Type>
static Value buildNarrow(OpBuilder &builder, Location loc, Value x) {
  return ReducePrecisionOp::create(
      builder, loc, x.getType(), x,
      TypeAttr::get(Type::get(builder.getContext())));
}

/// Rounds to the numbers of an 8-bit type: `bits` of mantissa, the exponent
/// below which they are evenly spaced, and the largest.
static double narrow(double x, int bits, int smallest, double largest) {
  if (std::isnan(x))
    return x;
  x = std::clamp(x, -largest, largest);
  int exponent = x == 0 ? smallest : std::max(std::ilogb(x), smallest);
  return std::ldexp(std::nearbyint(std::ldexp(x, bits - exponent)),
                    exponent - bits);
}

static double logistic(double x) { return 1 / (1 + std::exp(-x)); }

static std::vector<float> samples() {
  const char *given = std::getenv("INGOT_MATH_STRIDE");
  uint64_t stride = given ? std::strtoull(given, nullptr, 10) : 4001;
  std::vector<float> values;
  auto add = [&](uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, 4);
    values.push_back(value);
  };
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += stride)
    add(static_cast<uint32_t>(bits));
  // Neighbours of zero, one, the smallest normal, the largest, and infinity.
  for (uint32_t center : {0x0u, 0x3F800000u, 0x00800000u, 0x7F7FFFF0u,
                          0x7F800000u, 0x42B17218u, 0x42CFF1B5u})
    for (uint32_t offset = 0; offset < 16; ++offset)
      for (uint32_t sign : {0u, 0x80000000u}) {
        add((center + offset) ^ sign);
        add((center - offset) ^ sign);
      }
  return values;
}

/// The distance in units of the last place of an f32 at the exact value.
static double ulpError(float actual, double exact) {
  if (std::isnan(exact) || std::isnan(actual))
    return std::isnan(exact) == std::isnan(actual)
               ? 0
               : std::numeric_limits<double>::infinity();
  auto rounded = static_cast<float>(exact);
  if (actual == rounded)
    return 0;
  if (std::isinf(actual))
    // Overflow may come a little early.
    actual = std::copysign(std::ldexp(1.0, 128), actual);
  double size = std::max(std::fabs(exact), std::ldexp(1.0, -126));
  size = std::min(size, std::ldexp(1.0, 127));
  return std::fabs(actual - exact) /
         std::ldexp(1.0, static_cast<int>(std::floor(std::log2(size))) - 23);
}

TEST_P(CompiledMath, HoldsItsBound) {
  const MathFunction &function = GetParam();
  DialectRegistry registry;
  registerIngotDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::vector<float> inputs = samples();

  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  auto type = RankedTensorType::get({static_cast<int64_t>(inputs.size())},
                                    builder.getF32Type());
  builder.setInsertionPointToStart(module->getBody());
  auto func = func::FuncOp::create(builder, loc, "f",
                                   builder.getFunctionType(type, type));
  Block *block = func.addEntryBlock();
  builder.setInsertionPointToStart(block);
  func::ReturnOp::create(builder, loc,
                         function.build(builder, loc, block->getArgument(0)));
  Tensor argument(type);
  for (auto [i, x] : llvm::enumerate(inputs))
    argument.real(i) = x;

  auto compiled = CompiledModule::compile(*module, PipelineOptions());
  ASSERT_TRUE(static_cast<bool>(compiled))
      << llvm::toString(compiled.takeError());
  auto results = (*compiled)->run("f", argument);
  ASSERT_TRUE(static_cast<bool>(results))
      << llvm::toString(results.takeError());

  double worst = 0;
  float at = 0;
  for (auto [i, x] : llvm::enumerate(inputs)) {
    double error =
        ulpError(static_cast<float>((*results)[0].real(i)), function.exact(x));
    if (error > worst) {
      worst = error;
      at = x;
    }
  }
  RecordProperty("ulps", std::to_string(worst));
  EXPECT_LE(worst, function.ulps) << "at " << at;
  if (std::getenv("INGOT_MATH_STRIDE"))
    llvm::outs() << function.name << ": " << worst << " ulps at " << at << "\n";
}

static constexpr MathFunction kFunctions[] = {
    {"exp", build<ExpOp>, std::exp, 1},
    {"log", build<LogOp>, std::log, 1},
    {"log1p", build<Log1pOp>, std::log1p, 2},
    {"tanh", build<TanhOp>, std::tanh, 1.5},
    {"erf", build<ErfOp>, std::erf, 1},
    {"sin", build<SinOp>, std::sin, 1},
    {"cos", build<CosOp>, std::cos, 1},
    {"logistic", build<LogisticOp>, logistic, 2},
    {"reduce_precision_e4m3", buildNarrow<Float8E4M3FNType>,
     [](double x) { return narrow(x, 3, -6, 448); }, 0},
    {"reduce_precision_e5m2", buildNarrow<Float8E5M2Type>,
     [](double x) { return narrow(x, 2, -14, 57344); }, 0},
    {"rsqrt", build<RsqrtOp>, [](double x) { return 1 / std::sqrt(x); }, 1.5},
};

INSTANTIATE_TEST_SUITE_P(F32, CompiledMath, ::testing::ValuesIn(kFunctions),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });
