// SPDX-License-Identifier: Apache-2.0

#include "passes/graph/Projection.h"

#include "dialects/ingot/builders/Builders.h"

using namespace mlir;
using namespace ingot;

std::optional<Projection> Projection::of(MatmulOp matmul) {
  auto weight = dyn_cast<BlockArgument>(matmul.getRhs());
  if (!weight || matmul.getType().getRank() != 2 || matmul.getTransposeLhs())
    return std::nullopt;
  Projection layer{matmul, weight, {}, matmul.getResult()};
  int64_t columns = layer.columns();
  while (layer.result.hasOneUse()) {
    Operation *user = *layer.result.user_begin();
    if (auto reshape = dyn_cast<ReshapeOp>(user)) {
      ArrayRef<int64_t> shape = reshape.getType().getShape();
      if (shape.empty() || shape.back() != columns)
        break;
      layer.result = reshape.getResult();
      continue;
    }
    auto add = dyn_cast<AddOp>(user);
    if (!add || layer.bias)
      break;
    Value other = add.getLhs() == layer.result ? add.getRhs() : add.getLhs();
    auto broadcast = other.getDefiningOp<BroadcastOp>();
    if (!broadcast ||
        broadcast.getDims() !=
            ArrayRef<int64_t>{broadcast.getType().getRank() - 1} ||
        !isa<BlockArgument>(broadcast.getOperand()))
      break;
    layer.bias = cast<BlockArgument>(broadcast.getOperand());
    layer.result = add.getResult();
  }
  return layer;
}

int64_t Projection::columns() const {
  return tensorType(result).getShape().back();
}

ArrayRef<int64_t> Projection::rowShape() const {
  return tensorType(result).getShape().drop_back();
}
