#include "passes/cost/Cost.h"

#include "dialects/ingot/ir/Builders.h"
#include "dialects/ingot/ir/Dialect.h"

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
  // A contraction runs at the rate of what it multiplies.
  Value typed = op->getNumOperands() ? op->getOperand(0) : op->getResult(0);
  cost.flops += flops;
  cost.computeSeconds +=
      static_cast<double>(flops) /
      machine.getRate(model.getWorkKind(), tensorType(typed).getElementType());
}

Cost ingot::estimateCost(Operation *op, const Machine &machine) {
  Cost cost;
  if (op->hasTrait<SameBytes>() || op->hasTrait<OpTrait::ConstantLike>())
    return cost;
  SmallVector<Operation *> body = {op};
  if (auto fusion = dyn_cast<FusionOp>(op))
    body = llvm::to_vector_of<Operation *>(
        llvm::make_pointer_range(fusion.getBody().front()));
  return estimateCost(body, detail::operandAndResultBytes(op), machine);
}

Cost ingot::estimateCost(ArrayRef<Operation *> body, int64_t moved,
                         const Machine &machine) {
  Cost cost;
  for (Operation *op : body)
    addWork(op, machine, cost);
  cost.bytes = moved;
  auto bytes = static_cast<double>(cost.bytes);
  cost.memorySeconds =
      bytes / (bytes <= machine.cacheBytes ? machine.cacheBandwidth
                                           : machine.memoryBandwidth);
  cost.seconds =
      std::max(cost.computeSeconds, cost.memorySeconds) + machine.launchSeconds;
  return cost;
}
