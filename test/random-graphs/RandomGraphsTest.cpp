// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes leave what a function computes as it is: random functions run in the
// interpreter before and after. INGOT_RANDOM_GRAPHS sets how many per pipeline.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Dialect.h"
#include "dialects/reference/Interpreter.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/targets/Passes.h"
#include "test/random-graphs/RandomGraph.h"
#include "test/random-graphs/TestContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::testing;
using reference::Tensor;

namespace {
constexpr int64_t kGraphs = 100;
constexpr int64_t kOps = 12;

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

llvm::Expected<std::vector<Tensor>> run(ModuleOp module,
                                        const RandomGraph &graph) {
  return reference::evaluate(module.lookupSymbol<func::FuncOp>("f"),
                             graph.arguments);
}

/// A pipeline, with the most by which it may move results.
struct Pipeline {
  const char *name, *passes;
  double tolerance;
  const char *target = "cpu";
};

void PrintTo(const Pipeline &pipeline, std::ostream *os) {
  *os << pipeline.passes;
}

class RandomGraphs
    : public ::testing::TestWithParam<std::tuple<Pipeline, unsigned>> {
protected:
  static void SetUpTestSuite() {
    registerTransformsPasses();
    registerIngotPasses();
  }
};
} // namespace

TEST_P(RandomGraphs, ComputeTheSameAfterPasses) {
  auto [pipeline, width] = GetParam();
  Builder builder(&getContext());
  FloatType element = width == 64   ? FloatType(builder.getF64Type())
                      : width == 32 ? FloatType(builder.getF32Type())
                                    : FloatType(builder.getBF16Type());
  double rounding = width == 64 ? 1e-15 : width == 32 ? 1e-6 : 1e-2;
  for (int64_t seed = 0, e = getGraphCount(kGraphs); seed < e; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraph graph = makeRandomGraph(getContext(), seed, kOps, element);
    std::string before = print(*graph.module);
    ASSERT_TRUE(succeeded(verify(*graph.module))) << before;
    llvm::Expected<std::vector<Tensor>> expected = run(*graph.module, graph);
    ASSERT_TRUE(static_cast<bool>(expected))
        << llvm::toString(expected.takeError()) << before;

    PassManager passes(&getContext(), ModuleOp::getOperationName());
    passes.addPass(createAttachTarget({pipeline.target}));
    ASSERT_TRUE(succeeded(
        parsePassPipeline(pipeline.passes, passes.nest<func::FuncOp>())));
    ASSERT_TRUE(succeeded(passes.run(*graph.module))) << before;
    llvm::Expected<std::vector<Tensor>> actual = run(*graph.module, graph);
    ASSERT_TRUE(static_cast<bool>(actual))
        << llvm::toString(actual.takeError()) << print(*graph.module);

    ASSERT_EQ(actual->size(), expected->size());
    for (auto [i, pair] : llvm::enumerate(llvm::zip(*actual, *expected))) {
      auto &[a, b] = pair;
      ASSERT_EQ(a.getType(), b.getType());
      ASSERT_LE(reference::distance(a, b), pipeline.tolerance * rounding)
          << "result " << i << " of " << before << "became "
          << print(*graph.module);
    }
  }
}

// Nothing but the order of sums over constants changes, in any precision.
static constexpr Pipeline kExact[] = {
    {"canonicalize", "canonicalize", 1},
    {"cse", "cse,canonicalize,cse", 1},
    {"fuse", "ingot-form-fusions", 0},
};
// Sums in another order, and composites rounded after each part.
static constexpr Pipeline kInexact[] = {
    {"simplify", "ingot-simplify", 1e6},
    {"decompose", "ingot-decompose", 1e6},
    {"layouts", "ingot-decompose,ingot-choose-layouts{everywhere}", 1e6},
    {"device_layouts", "ingot-decompose,ingot-choose-layouts{everywhere}", 1e6,
     "cuda"},
    {"all", "ingot-simplify,ingot-decompose,ingot-simplify,ingot-form-fusions",
     1e6},
};

static std::string
nameOf(const ::testing::TestParamInfo<std::tuple<Pipeline, unsigned>> &info) {
  return std::get<0>(info.param).name + std::to_string(std::get<1>(info.param));
}
INSTANTIATE_TEST_SUITE_P(Exact, RandomGraphs,
                         ::testing::Combine(::testing::ValuesIn(kExact),
                                            ::testing::Values(64u, 32u, 16u)),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Inexact, RandomGraphs,
                         ::testing::Combine(::testing::ValuesIn(kInexact),
                                            ::testing::Values(64u)),
                         nameOf);

TEST(Printing, IsReadBackAsItWas) {
  Builder builder(&getContext());
  for (int64_t seed = 0, e = getGraphCount(kGraphs); seed < e; ++seed) {
    RandomGraph graph =
        makeRandomGraph(getContext(), seed, kOps, builder.getF32Type());
    std::string text = print(*graph.module);
    OwningOpRef<ModuleOp> copy =
        parseSourceString<ModuleOp>(text, &getContext());
    ASSERT_TRUE(copy) << text;
    ASSERT_EQ(print(*copy), text);
  }
}

TEST(Stability, IsLackingWhereNearlyEqualNumbersAreCompared) {
  Builder builder(&getContext());
  auto standsNoise = [&](uint64_t seed) {
    RandomGraph graph =
        makeRandomGraph(getContext(), seed, /*size=*/4, builder.getF32Type());
    return isStable(graph, /*noise=*/1e-6, /*tolerance=*/1e-3);
  };
  // Which graphs take the largest of equal numbers, which noise makes
  // different, depends on the catalogue of ops.
  constexpr int64_t graphs = 100;
  int64_t stable = 0;
  for (uint64_t seed = 0; seed < graphs; ++seed)
    stable += standsNoise(seed);
  EXPECT_LT(stable, graphs);
  EXPECT_GE(stable, 90);
}
