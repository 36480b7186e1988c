// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Compiled code computes what the interpreter computes, on random functions.
// INGOT_RANDOM_GRAPHS sets how many per level and precision.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/reference/Interpreter.h"
#include "mlir/Pass/PassManager.h"
#include "passes/fusion/Passes.h"
#include "passes/precision/Passes.h"
#include "passes/targets/cuda/Passes.h"
#include "test/random-graphs/RandomGraph.h"
#include "test/random-graphs/TestContext.h"
#include "tools/ingot-eval/Compiled.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::testing;
using reference::Tensor;

namespace {
constexpr int64_t kGraphs = 25;
void compareWithInterpreter(RandomGraph &graph, unsigned level,
                            const char *target, double tolerance) {
  std::string text;
  llvm::raw_string_ostream(text) << *graph.module;
  llvm::Expected<std::vector<Tensor>> expected = reference::evaluate(
      graph.module->lookupSymbol<func::FuncOp>("f"), graph.arguments);
  ASSERT_TRUE(static_cast<bool>(expected))
      << llvm::toString(expected.takeError()) << text;
  PipelineOptions options;
  options.level = level;
  options.target = target;
  llvm::Expected<std::unique_ptr<CompiledModule>> compiled =
      CompiledModule::compile(*graph.module, options);
  ASSERT_TRUE(static_cast<bool>(compiled))
      << llvm::toString(compiled.takeError()) << text;
  llvm::Expected<std::vector<Tensor>> actual =
      (*compiled)->run("f", graph.arguments);
  ASSERT_TRUE(static_cast<bool>(actual))
      << llvm::toString(actual.takeError()) << text;
  ASSERT_EQ(actual->size(), expected->size());
  for (auto [i, pair] : llvm::enumerate(llvm::zip(*actual, *expected)))
    EXPECT_LE(reference::distance(std::get<0>(pair), std::get<1>(pair)),
              tolerance)
        << "result " << i << " of " << text;
}

using Variant = std::tuple<unsigned, unsigned, const char *>;

class CompiledGraphs : public ::testing::TestWithParam<Variant> {};
} // namespace

TEST_P(CompiledGraphs, ComputeWhatTheInterpreterDoes) {
  auto [level, width, target] = GetParam();
  Builder builder(&getContext());
  FloatType element = width == 64 ? FloatType(builder.getF64Type())
                                  : FloatType(builder.getF32Type());
  double tolerance = width == 64 ? 1e-9 : 1e-3;
  for (int64_t seed = 0, e = getGraphCount(kGraphs); seed < e; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    // Few ops in f32: a wrong last bit can turn a comparison around.
    RandomGraph graph =
        makeRandomGraph(getContext(), seed, width == 64 ? 12 : 4, element,
                        // Strips, pieces and loops of more than one vector.
                        /*stretch=*/seed % 2 ? 700 : 1);
    compareWithInterpreter(graph, level, target, tolerance);
    if (HasFailure())
      return;
  }
}

namespace {
struct Half {
  const char *name;
  /// The distance of 1 and the next number.
  double rounding;
};

void PrintTo(const Half &half, std::ostream *os) { *os << half.name; }

class MixedPrecisionGraphs
    : public ::testing::TestWithParam<std::tuple<Half, const char *>> {};
} // namespace

// Kernels read and write halves as the interpreter, which computes in double,
// rounds them: off by no more than a few numbers that round the other way.
TEST_P(MixedPrecisionGraphs, StayWithinTheRoundingOfTheirInputs) {
  auto [half, target] = GetParam();
  Builder builder(&getContext());
  int64_t tried = 0, seed = 0;
  for (int64_t e = getGraphCount(kGraphs); tried < e && seed < 100 * e;
       ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraph graph =
        makeRandomGraph(getContext(), seed, 5, builder.getF32Type(),
                        /*stretch=*/seed % 2 ? 700 : 1);
    PassManager passes(&getContext(), ModuleOp::getOperationName());
    passes.addNestedPass<func::FuncOp>(
        createAssignPrecision({half.name, {}, {}}));
    if (StringRef(target) == "emulator")
      passes.addNestedPass<func::FuncOp>(createRoundEpilogues());
    ASSERT_TRUE(succeeded(passes.run(*graph.module)));
    // Rounding decides on which side of a step a number next to it falls.
    constexpr double step = 0.25;
    if (!hasHalves(*graph.module) || !isStable(graph, half.rounding, step))
      continue;
    ++tried;
    compareWithInterpreter(graph, /*level=*/2, target, 2 * half.rounding);
    if (HasFailure())
      return;
  }
  EXPECT_EQ(tried, getGraphCount(kGraphs));
}

static std::string nameOf(const ::testing::TestParamInfo<Variant> &info) {
  return "O" + std::to_string(std::get<0>(info.param)) + "_f" +
         std::to_string(std::get<1>(info.param));
}
INSTANTIATE_TEST_SUITE_P(Cpu, CompiledGraphs,
                         ::testing::Combine(::testing::Values(0u, 2u),
                                            ::testing::Values(64u, 32u),
                                            ::testing::Values("cpu")),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(EmulatedCuda, CompiledGraphs,
                         ::testing::Combine(::testing::Values(2u),
                                            ::testing::Values(64u, 32u),
                                            ::testing::Values("emulator")),
                         nameOf);

static constexpr Half kHalves[] = {{"bf16", 0x1p-7}, {"fp16", 0x1p-10}};
INSTANTIATE_TEST_SUITE_P(
    , MixedPrecisionGraphs,
    ::testing::Combine(::testing::ValuesIn(kHalves),
                       ::testing::Values("cpu", "emulator")),
    [](const ::testing::TestParamInfo<std::tuple<Half, const char *>> &info) {
      return std::string(std::get<0>(info.param).name) + "_" +
             std::get<1>(info.param);
    });
