// SPDX-License-Identifier: Apache-2.0

#include "passes/cost/Cost.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/support/Views.h"

using namespace mlir;
using namespace ingot;

static void addWork(Operation *op, const Machine &machine, Cost &cost) {
  // A loop of a group.
  if (auto part = dyn_cast<FusionOp>(op))
    for (Operation &inner : part.getBody().front())
      addWork(&inner, machine, cost);
  auto model = dyn_cast<CostModel>(op);
  if (!model)
    return;
  int64_t flops = model.getFlops();
  if (flops == 0)
    return;
  // The throughput of a contraction is that of its operands' element type.
  Value typed = op->getNumOperands() ? op->getOperand(0) : op->getResult(0);
  cost.flops += flops;
  cost.computeSeconds +=
      static_cast<double>(flops) /
      machine.getRate(model.getWorkKind(), tensorType(typed).getElementType());
}

/// Returns an upper bound of the bytes of its inputs that a kernel reads. An
/// element of a result reads one element of each operand, or all of them if it
/// loops: of a table in which few rows are looked up, few are read.
static int64_t countReadBytes(FusionOp fusion) {
  DenseMap<Value, int64_t> read;
  auto need = [&](Value value, int64_t elements) {
    int64_t &sum = read[value];
    sum = std::min(sum + elements, tensorType(value).getNumElements());
  };
  auto needAll = [&](Value value) {
    need(value, tensorType(value).getNumElements());
  };
  int64_t bytes = 0;
  Block &body = fusion.getBody().front();
  for (Operation &op : llvm::reverse(body)) {
    // A loop of a group: what it reads itself is counted there.
    if (auto part = dyn_cast<FusionOp>(op)) {
      bytes += countReadBytes(part);
      continue;
    }
    auto scalar = dyn_cast<ScalarBody>(op);
    int64_t elements = 0;
    for (Value result : op.getResults())
      elements = std::max(elements, read.lookup(result));
    for (Value operand : op.getOperands())
      if (scalar && !scalar.isLooped())
        need(operand, elements);
      else
        needAll(operand);
  }
  // A tensor may be read under several shapes.
  DenseMap<Value, int64_t> bytesOf;
  for (auto [argument, input] :
       llvm::zip_equal(body.getArguments(), fusion.getInputs()))
    if (int64_t elements = read.lookup(argument)) {
      RankedTensorType type = tensorType(argument);
      int64_t &most = bytesOf[resolveViews(input)];
      most = std::max(most, byteSize(type) / type.getNumElements() * elements);
    }
  for (auto [tensor, most] : bytesOf)
    bytes += most;
  return bytes;
}

/// A loop costs what its iterations cost.
static Cost estimateLoop(RepeatOp loop, const Machine &machine) {
  Cost all;
  auto count = static_cast<int64_t>(loop.getCount());
  for (Operation &op : findBody(loop).getBody().front().without_terminator()) {
    Cost cost = estimateCost(&op, machine);
    all.flops += count * cost.flops;
    all.bytes += count * cost.bytes;
    all.computeSeconds += static_cast<double>(count) * cost.computeSeconds;
    all.memorySeconds += static_cast<double>(count) * cost.memorySeconds;
    all.seconds += static_cast<double>(count) * cost.seconds;
  }
  return all;
}

Cost ingot::estimateCost(Operation *op, const Machine &machine) {
  Cost cost;
  if (op->hasTrait<SameBytes>() || op->hasTrait<OpTrait::ConstantLike>())
    return cost;
  if (auto loop = dyn_cast<RepeatOp>(op))
    return estimateLoop(loop, machine);
  auto fusion = dyn_cast<FusionOp>(op);
  if (!fusion)
    return estimateCost(op, detail::operandAndResultBytes(op), machine);
  int64_t bytes = countReadBytes(fusion);
  for (Value result : fusion.getResults())
    bytes += byteSize(tensorType(result));
  auto body = llvm::to_vector_of<Operation *>(
      llvm::make_pointer_range(fusion.getBody().front()));
  return estimateCost(body, bytes, machine);
}

Cost ingot::estimateCost(ArrayRef<Operation *> body, int64_t moved,
                         const Machine &machine) {
  Cost cost;
  for (Operation *op : body)
    addWork(op, machine, cost);
  cost.bytes = moved;
  cost.memorySeconds = machine.getMoveSeconds(static_cast<double>(moved));
  cost.seconds =
      std::max(cost.computeSeconds, cost.memorySeconds) + machine.launchSeconds;
  return cost;
}
