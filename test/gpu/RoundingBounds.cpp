// SPDX-License-Identifier: Apache-2.0

#include "test/gpu/RoundingBounds.h"

#include "dialects/ingot/ir/Dialect.h"
#include "dialects/reference/Interpreter.h"

#include <cmath>
#include <limits>
#include <random>

using namespace mlir;
using namespace ingot;
using reference::Tensor;

/// The difference between GPUs and the interpreter, which computes in double,
/// for f32, relative to the larger of 1 and the magnitude.
static constexpr double kWideMove = 0x1p-20;
static constexpr double kFloor = 0x1p-10;
static constexpr int kRuns = 16;

/// The bits after the point of a 16-bit element type; 0 of others.
static int getFractionBits(Type element) {
  return element.isBF16() ? 7 : element.isF16() ? 10 : 0;
}

/// The distance of `value` to the next number of the 16-bit type.
static double getUnit(double value, int fractionBits) {
  if (value == 0 || !std::isfinite(value))
    return 0;
  return std::ldexp(1.0, std::ilogb(value) - fractionBits);
}

namespace {
class MonteCarloRun {
public:
  explicit MonteCarloRun(unsigned seed) : random(seed) {}

  llvm::Expected<std::vector<Tensor>> evaluate(func::FuncOp function,
                                               ArrayRef<Tensor> arguments);

private:
  double drawSign() { return random() & 1 ? 1 : -1; }
  void moveResult(Operation *op, Tensor &result);
  std::vector<Tensor> moveOperands(ArrayRef<const Tensor *> operands);

  std::mt19937_64 random;
};
} // namespace

void MonteCarloRun::moveResult(Operation *op, Tensor &result) {
  // What is a constant or only moved has been rounded before.
  if (!result.isFloat() || op->getNumOperands() == 0 || isa<MovesElements>(op))
    return;
  int bits = getFractionBits(result.getElementType());
  for (int64_t i = 0; i < result.size(); ++i) {
    double &value = result.real(i);
    double move = bits ? getUnit(value, bits)
                       : kWideMove * std::max(1.0, std::abs(value));
    value += drawSign() * move;
  }
}

std::vector<Tensor>
MonteCarloRun::moveOperands(ArrayRef<const Tensor *> operands) {
  std::vector<Tensor> moved;
  for (const Tensor *operand : operands) {
    moved.push_back(*operand);
    int bits = getFractionBits(operand->getElementType());
    if (!bits)
      continue;
    for (int64_t i = 0; i < operand->size(); ++i)
      moved.back().real(i) *= 1 + drawSign() * std::ldexp(1.0, -bits - 1);
  }
  return moved;
}

llvm::Expected<std::vector<Tensor>>
MonteCarloRun::evaluate(func::FuncOp function, ArrayRef<Tensor> arguments) {
  Block &block = function.getBody().front();
  DenseMap<Value, Tensor> values;
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    values.try_emplace(argument, value);
  for (Operation &op : block.without_terminator()) {
    SmallVector<const Tensor *> operands;
    for (Value operand : op.getOperands())
      operands.push_back(&values.find(operand)->second);
    std::vector<Tensor> moved;
    if (isa<AttentionOp, AttentionGradOp, PackedAttentionOp,
            PackedAttentionGradOp>(op)) {
      moved = moveOperands(operands);
      for (auto [operand, copy] : llvm::zip(operands, moved))
        operand = &copy;
    }
    auto results = reference::evaluateOp(&op, operands);
    if (!results)
      return results.takeError();
    for (auto [value, result] : llvm::zip(op.getResults(), *results)) {
      moveResult(&op, result);
      values.try_emplace(value, std::move(result));
    }
  }
  std::vector<Tensor> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(values.find(value)->second);
  return results;
}

/// How far apart two elements are; infinite if only one is a number.
static double getDistance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b)))
    return 0;
  double distance = std::abs(a - b);
  return std::isnan(distance) ? std::numeric_limits<double>::infinity()
                              : distance;
}

llvm::Expected<std::vector<std::vector<double>>>
ingot::boundRounding(func::FuncOp function, ArrayRef<Tensor> arguments) {
  auto exact = reference::evaluate(
      function, std::vector<Tensor>(arguments.begin(), arguments.end()));
  if (!exact)
    return exact.takeError();
  std::vector<std::vector<double>> bounds;
  for (const Tensor &result : *exact)
    bounds.emplace_back(result.size());
  for (unsigned seed = 0; seed < kRuns; ++seed) {
    auto run = MonteCarloRun(seed).evaluate(function, arguments);
    if (!run)
      return run.takeError();
    for (auto [bound, a, b] : llvm::zip(bounds, *exact, *run))
      for (auto [i, most] : llvm::enumerate(bound)) {
        auto at = static_cast<int64_t>(i);
        most = std::max(most, getDistance(a.asReal(at), b.asReal(at)));
      }
  }
  for (auto [bound, result] : llvm::zip(bounds, *exact))
    for (auto [i, most] : llvm::enumerate(bound)) {
      double value = result.asReal(static_cast<int64_t>(i));
      most = 2 * most + kFloor * std::max(1.0, std::abs(value));
    }
  return bounds;
}
