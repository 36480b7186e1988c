// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Vector-Jacobian products of every differentiable op against central
// differences, and composites against their decompositions, in the interpreter.
//
//===----------------------------------------------------------------------===//

#include "dialects/reference/Interpreter.h"
#include "mlir/IR/Verifier.h"
#include "test/gradients/Instance.h"
#include "test/random-graphs/TestContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::testing;
using reference::Tensor;

namespace {
constexpr int kInstances = 20;
constexpr double kStep = 1e-5;
constexpr double kTolerance = 1e-6;

std::vector<Tensor> run(func::FuncOp function, std::vector<Tensor> arguments) {
  llvm::Expected<std::vector<Tensor>> results =
      reference::evaluate(function, std::move(arguments));
  if (results)
    return std::move(*results);
  ADD_FAILURE() << llvm::toString(results.takeError());
  return {};
}

std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os);
  return text;
}

bool isReal(Value value) {
  return isa<FloatType>(tensorType(value).getElementType());
}

/// Running statistics are documented to pass no gradient.
bool passesGradient(OpResult result) {
  if (isa<BatchNormOp>(result.getOwner()))
    return result.getResultNumber() != 1 && result.getResultNumber() != 2;
  return isReal(result);
}

/// The instance's op differentiated: a function of the arguments and the
/// cotangents, and which operands its results are the cotangents of.
struct Differentiated {
  func::FuncOp function;
  std::vector<unsigned> operands;
  /// By result of the op; empty where the loss does not depend on it.
  std::vector<std::optional<Tensor>> cotangents;
};

/// Subsets of results and operands take part, so that missing ones are tested.
Differentiated differentiate(Instance &instance, Chooser &choose) {
  Differentiated d;
  Operation *op;
  std::tie(d.function, op) = copyFunction(instance, "vjp");
  Block &block = d.function.getBody().front();

  SmallVector<Value> cotangents(op->getNumResults());
  d.cotangents.resize(op->getNumResults());
  std::vector<unsigned> results;
  for (OpResult result : op->getResults())
    if (passesGradient(result))
      results.push_back(result.getResultNumber());
  unsigned always = choose.pick(results);
  for (unsigned r : results) {
    if (r != always && choose.chance(0.5))
      continue;
    RankedTensorType type = tensorType(op->getResult(r));
    cotangents[r] = block.addArgument(type, op->getLoc());
    d.cotangents[r] = randomTensor(type, choose);
  }

  llvm::BitVector needed(op->getNumOperands());
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (instance.getArgumentOf(i) >= 0 && choose.chance(0.8))
      needed.set(i);
  OpBuilder builder(block.getTerminator());
  SmallVector<Value> gradients(op->getNumOperands());
  if (failed(cast<Differentiable>(op).buildVjp(builder, cotangents, needed,
                                               gradients)))
    ADD_FAILURE() << "buildVjp failed";
  SmallVector<Value> returned;
  for (int i : needed.set_bits()) {
    if (!gradients[i])
      gradients[i] = splatLike(builder, op->getOperand(i), 0);
    EXPECT_EQ(gradients[i].getType(), op->getOperand(i).getType());
    d.operands.push_back(i);
    returned.push_back(gradients[i]);
  }
  setResults(d.function, returned);
  EXPECT_TRUE(succeeded(verify(d.function))) << print(d.function);
  return d;
}

/// The sum of all results weighted with their cotangents.
double loss(Instance &instance, const Differentiated &d,
            const std::vector<Tensor> &arguments) {
  std::vector<Tensor> results = run(instance.getFunction(), arguments);
  double sum = 0;
  for (auto [result, cotangent] : llvm::zip(results, d.cotangents))
    for (int64_t i = 0; cotangent && i < result.size(); ++i)
      sum += result.real(i) * cotangent->real(i);
  return sum;
}

Tensor differences(Instance &instance, const Differentiated &d,
                   unsigned argument) {
  std::vector<Tensor> arguments = instance.getArguments();
  Tensor gradient(arguments[argument].getType());
  for (int64_t i = 0; i < gradient.size(); ++i) {
    double &x = arguments[argument].real(i);
    double at = x;
    x = at + kStep;
    double above = loss(instance, d, arguments);
    x = at - kStep;
    double below = loss(instance, d, arguments);
    x = at;
    gradient.real(i) = (above - below) / (2 * kStep);
  }
  return gradient;
}

class PerEntry : public ::testing::TestWithParam<size_t> {
protected:
  const Entry &entry() { return catalogue()[GetParam()]; }
  uint64_t seed(int number) { return GetParam() * 1000 + number; }
};
using Gradient = PerEntry;
using Decomposition = PerEntry;
} // namespace

TEST_P(Gradient, EqualsCentralDifferences) {
  for (int number = 0; number < kInstances; ++number) {
    Instance instance(getContext(), entry(), seed(number),
                      Float64Type::get(&getContext()));
    ASSERT_TRUE(succeeded(verify(instance.getModule())));
    Chooser choose(seed(number) + 500);
    Differentiated d = differentiate(instance, choose);
    std::vector<Tensor> arguments = instance.getArguments();
    for (std::optional<Tensor> &cotangent : d.cotangents)
      if (cotangent)
        arguments.push_back(*cotangent);
    std::vector<Tensor> gradients = run(d.function, arguments);
    ASSERT_EQ(gradients.size(), d.operands.size());
    for (auto [operand, gradient] : llvm::zip(d.operands, gradients)) {
      Tensor expected =
          differences(instance, d, instance.getArgumentOf(operand));
      EXPECT_LE(reference::distance(gradient, expected), kTolerance)
          << "operand " << operand << " of\n"
          << print(instance.getFunction()) << "\n"
          << print(d.function);
    }
    if (HasFailure())
      return;
  }
}

TEST_P(Gradient, IsBuiltInAnyPrecision) {
  Builder builder(&getContext());
  for (FloatType element :
       {FloatType(builder.getF32Type()), FloatType(builder.getF16Type()),
        FloatType(builder.getBF16Type())})
    for (int number = 0; number < kInstances; ++number) {
      Instance instance(getContext(), entry(), seed(number), element);
      Chooser choose(seed(number) + 500);
      Differentiated d = differentiate(instance, choose);
      if (HasFailure())
        return;
    }
}

TEST_P(Decomposition, EqualsComposite) {
  Builder builder(&getContext());
  // Composites round once, their parts after each op.
  std::pair<FloatType, double> precisions[] = {{builder.getF64Type(), 1e-12},
                                               {builder.getF32Type(), 1e-5},
                                               {builder.getF16Type(), 1e-2},
                                               {builder.getBF16Type(), 5e-2}};
  for (auto [element, tolerance] : precisions)
    for (int number = 0; number < kInstances; ++number) {
      Instance instance(getContext(), entry(), seed(number), element);
      auto [function, op] = copyFunction(instance, "decomposed");
      OpBuilder parts(op);
      SmallVector<Value> results = cast<Decomposable>(op).decompose(parts);
      op->replaceAllUsesWith(results);
      op->erase();
      ASSERT_TRUE(succeeded(verify(function))) << print(function);
      std::vector<Tensor> expected =
          run(instance.getFunction(), instance.getArguments());
      std::vector<Tensor> actual = run(function, instance.getArguments());
      for (auto [a, b] : llvm::zip_equal(actual, expected))
        EXPECT_LE(reference::distance(a, b), tolerance)
            << print(instance.getModule());
      if (HasFailure())
        return;
    }
}

static std::string nameOf(const ::testing::TestParamInfo<size_t> &info) {
  std::string name =
      catalogue()[info.param].opNames.front().drop_front(6).str();
  return name + "_" + std::to_string(info.param);
}
/// The numbers of the entries whose op has the interface.
template <typename Interface> static std::vector<size_t> entriesWith() {
  std::vector<size_t> numbers;
  for (auto [number, entry] : llvm::enumerate(catalogue()))
    if (RegisteredOperationName::lookup(entry.opNames.front(), &getContext())
            ->hasInterface<Interface>())
      numbers.push_back(number);
  return numbers;
}
INSTANTIATE_TEST_SUITE_P(Op, Gradient,
                         ::testing::ValuesIn(entriesWith<Differentiable>()),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Op, Decomposition,
                         ::testing::ValuesIn(entriesWith<Decomposable>()),
                         nameOf);

/// The inference form uses the running statistics and keeps them.
TEST(InferenceForm, OfBatchNorm) {
  auto entry = llvm::find_if(catalogue(), [](const Entry &entry) {
    return entry.opNames.front() == BatchNormOp::getOperationName();
  });
  for (int number = 0; number < kInstances; ++number) {
    Instance instance(getContext(), *entry, number,
                      Float64Type::get(&getContext()));
    auto [function, op] = copyFunction(instance, "inference");
    OpBuilder builder(op);
    op->replaceAllUsesWith(cast<ModeDependent>(op).buildInferenceForm(builder));
    ASSERT_TRUE(succeeded(verify(function)));
    const std::vector<Tensor> &arguments = instance.getArguments();
    std::vector<Tensor> actual = run(function, arguments);
    const Tensor &x = arguments[0];
    Tensor expected(x.getType());
    reference::Split split(x.getShape(), 1);
    for (int64_t i = 0; i < x.size(); ++i) {
      int64_t c = i / split.inner % split.size;
      double rstd = 1 / std::sqrt(arguments[4].real(c) + 0.1);
      expected.real(i) =
          (x.real(i) - arguments[3].real(c)) * rstd * arguments[1].real(c) +
          arguments[2].real(c);
    }
    EXPECT_LE(reference::distance(actual[0], expected), 1e-12);
    EXPECT_EQ(reference::distance(actual[1], arguments[3]), 0);
    EXPECT_EQ(reference::distance(actual[2], arguments[4]), 0);
  }
}
