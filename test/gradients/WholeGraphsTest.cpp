// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Gradients that --ingot-differentiate adds to random functions, against
// central differences in the interpreter: values used several times, values
// that no gradient passes, chains of everything. INGOT_RANDOM_GRAPHS sets how
// many.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/reference/Interpreter.h"
#include "dialects/reference/Module.h"
#include "mlir/Pass/PassManager.h"
#include "passes/autodiff/Passes.h"
#include "test/random-graphs/RandomGraph.h"
#include "test/random-graphs/TestContext.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::testing;
using reference::Tensor;

namespace {
constexpr int64_t kGraphs = 50;
constexpr int64_t kOps = 10;
constexpr double kTolerance = 1e-5;

bool isReal(Value value) {
  return isa<FloatType>(tensorType(value).getElementType());
}

/// Running statistics pass no gradient, by definition.
bool isRunningStatistic(Value value) {
  auto op = value.getDefiningOp<BatchNormOp>();
  return op && (value == op.getNewMean() || value == op.getNewVariance());
}

/// Whether the loss depends on what passes no gradient although it could.
bool usesRunningStatistics(func::FuncOp function) {
  bool uses = false;
  function.walk([&](Operation *op) {
    uses |= !op->hasTrait<OpTrait::IsTerminator>() &&
            llvm::any_of(op->getOperands(), isRunningStatistic);
  });
  return uses;
}

/// Turns @f into @train_step: floating arguments are parameters, the loss is a
/// bounded sum of all results. Returns the loss before it is rounded to f32.
void makeStep(RandomGraph &graph) {
  auto function = graph.module->lookupSymbol<func::FuncOp>("f");
  function.setName(kTrainStepName);
  Block &block = function.getBody().front();
  OpBuilder states(function);
  Builder &names = states;
  OpBuilder builder(block.getTerminator());
  Arithmetic a(builder, function.getLoc());

  Value total = a.constant(RankedTensorType::get({}, builder.getF64Type()), 0);
  auto accumulate = [&](Value value) {
    value = TanhOp::create(builder, value.getLoc(), value.getType(), value);
    total = a.add(total, a.sumAll(value));
  };
  for (auto [i, argument] : llvm::enumerate(block.getArguments())) {
    std::string name = "x" + std::to_string(i);
    if (!isReal(argument)) {
      function.setArgAttr(i, kNameAttr, names.getStringAttr(name));
      function.setArgAttr(i, kKindAttr, names.getStringAttr("data"));
      continue;
    }
    StateOp::create(states, function.getLoc(), name, Role::Parameter,
                    tensorType(argument), graph.arguments[i].toAttribute());
    function.setArgAttr(i, kStateAttr,
                        FlatSymbolRefAttr::get(&getContext(), name));
  }
  for (Value result : block.getTerminator()->getOperands())
    if (isReal(result) && !isRunningStatistic(result))
      accumulate(result);
  Value loss = a.cast(total, builder.getF32Type());
  block.getTerminator()->setOperands({loss, total});
  function.setType(names.getFunctionType(block.getArgumentTypes(),
                                         {loss.getType(), total.getType()}));
  function.setResultAttr(0, kNameAttr, names.getStringAttr("loss"));
  function.setResultAttr(1, kNameAttr, names.getStringAttr("total"));
}

/// The slope of the loss by one element, if the loss is smooth there: two step
/// widths give the same.
std::optional<double> slope(func::FuncOp step, std::vector<Tensor> arguments,
                            size_t argument, int64_t element) {
  double at = arguments[argument].real(element), slopes[2];
  double widths[2] = {1e-5, 1e-6};
  for (int i = 0; i < 2; ++i) {
    double losses[2];
    for (int side = 0; side < 2; ++side) {
      arguments[argument].real(element) =
          side ? at + widths[i] : at - widths[i];
      auto results = reference::evaluate(step, arguments);
      if (!results) {
        ADD_FAILURE() << llvm::toString(results.takeError());
        return std::nullopt;
      }
      losses[side] = (*results)[1].real(0);
    }
    slopes[i] = (losses[1] - losses[0]) / (2 * widths[i]);
  }
  double scale = std::max(1.0, std::fabs(slopes[0]));
  if (!(std::fabs(slopes[0] - slopes[1]) <= kTolerance * scale))
    return std::nullopt;
  return slopes[0];
}
} // namespace

TEST(WholeGraphs, HaveTheGradientsOfCentralDifferences) {
  int64_t compared = 0, left = 0;
  const int64_t wanted = 10 * getGraphCount(kGraphs),
                most = 4 * getGraphCount(kGraphs);
  for (int64_t seed = 0;
       seed < getGraphCount(kGraphs) || (compared < wanted && seed < most);
       ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraph graph = makeRandomGraph(getContext(), seed, kOps,
                                        Float64Type::get(&getContext()));
    if (usesRunningStatistics(graph.module->lookupSymbol<func::FuncOp>("f")))
      continue;
    makeStep(graph);
    // A loss without parameters is an error of the user's, not tested here.
    OwningOpRef<ModuleOp> differentiated = graph.module->clone();
    PassManager passes(&getContext());
    passes.addPass(createDifferentiate());
    {
      ScopedDiagnosticHandler quiet(&getContext(), [](Diagnostic &) {});
      if (failed(passes.run(*differentiated)))
        continue;
    }
    auto step = graph.module->lookupSymbol<func::FuncOp>(kTrainStepName);
    auto full = differentiated->lookupSymbol<func::FuncOp>(kTrainStepName);
    // By name, because arguments that nothing needs are gone.
    reference::NamedTensors values;
    for (auto [i, argument] : llvm::enumerate(graph.arguments))
      values["x" + std::to_string(i)] = argument;
    auto results = reference::runByName(full, values, values);
    ASSERT_TRUE(static_cast<bool>(results))
        << llvm::toString(results.takeError());
    for (size_t argument = 0; argument < graph.arguments.size(); ++argument) {
      std::string name = "x" + std::to_string(argument);
      auto found = results->find(name + ".grad");
      if (found == results->end())
        continue;
      const Tensor &gradient = found->second;
      for (int64_t i = 0; i < gradient.size(); ++i) {
        std::optional<double> expected =
            slope(step, graph.arguments, argument, i);
        if (!expected) {
          ++left;
          continue;
        }
        ++compared;
        std::string text;
        llvm::raw_string_ostream(text) << *graph.module;
        ASSERT_NEAR(gradient.real(i), *expected,
                    kTolerance * std::max(1.0, std::fabs(*expected)))
            << "element " << i << " of " << name << " in " << text;
      }
    }
  }
  // Many functions are differentiable, and those at most places.
  EXPECT_GE(compared, wanted);
  EXPECT_LT(left, compared / 10);
  RecordProperty("compared", std::to_string(compared));
}
