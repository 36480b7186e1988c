// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How ops without operands are computed in parts.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/partition/PartitionModels.h"

using namespace mlir;
using namespace ingot;

namespace {

/// Any part of equal elements.
struct ConstantModel : PartitionModel<ConstantOp, ConstantModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    FactorBuilder factors(op);
    RankedTensorType type = tensorType(op->getResult(0));
    if (cast<ConstantOp>(op).getValue().isSplat())
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        factors.add(Factor::Free, type.getDimSize(dim)).result(0, dim);
    return factors.take();
  }
  void setFactorSize(Operation *op, const Factor &, int64_t) const {
    auto constant = cast<ConstantOp>(op);
    auto value = cast<DenseElementsAttr>(constant.getValue());
    constant.setValueAttr(value.resizeSplat(tensorType(op->getResult(0))));
  }
};

/// Along its own dimension, a part counts from its first index.
struct IotaModel : PartitionModel<IotaOp, IotaModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    FactorBuilder factors(op);
    RankedTensorType type = tensorType(op->getResult(0));
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      factors.add(Factor::Free, type.getDimSize(dim)).result(0, dim);
      if (isCounted(op, dim))
        factors.contiguous();
    }
    return factors.take();
  }
  SmallVector<Value> buildPart(Operation *op, OpBuilder &builder,
                               const Factor &factor, int64_t parts,
                               ValueRange operands, Value number) const {
    SmallVector<Value> part = clonePart(builder, op, factor, parts, operands);
    if (!isCounted(op, factor.resultDims.front()))
      return part;
    // In integers: floats would round twice.
    Arithmetic a(builder, op->getLoc());
    RankedTensorType type = tensorType(part.front());
    Type index = builder.getI64Type();
    Value first = getFirstOfPart(builder, op->getLoc(), number,
                                 type.getDimSize(factor.resultDims.front()));
    part.front().getDefiningOp()->erase();
    Value count = a.iota(withElement(type, index),
                         static_cast<int64_t>(cast<IotaOp>(op).getDim()));
    return {a.cast(a.add(count, a.fill(first, type.getShape())),
                   type.getElementType())};
  }

private:
  static bool isCounted(Operation *op, int64_t dim) {
    return dim == static_cast<int64_t>(cast<IotaOp>(op).getDim());
  }
};

/// Numbers are drawn by their position in the whole tensor.
template <typename Op>
struct RandomModel : PartitionModel<Op, RandomModel<Op>> {
  SmallVector<Factor> getFactors(Operation *op) const {
    FactorBuilder factors(op);
    RankedTensorType type = tensorType(op->getResult(0));
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      factors.add(Factor::Free, type.getDimSize(dim)).contiguous();
      if (std::is_same_v<Op, DropoutOp>)
        factors.operand(0, dim);
      for (unsigned i = 0, e = op->getNumResults(); i < e; ++i)
        factors.result(i, dim);
    }
    return factors.take();
  }
  SmallVector<Value> buildPart(Operation *op, OpBuilder &builder,
                               const Factor &factor, int64_t parts,
                               ValueRange operands, Value number) const {
    SmallVector<Value> part = clonePart(builder, op, factor, parts, operands);
    auto own = cast<Op>(part.front().getDefiningOp());
    SmallVector<int64_t> whole(
        own.getWhole().value_or(tensorType(op->getResult(0)).getShape()));
    int64_t dim = factor.resultDims.front();
    int64_t stride = factor.getPartSize(parts);
    for (int64_t size : ArrayRef(whole).drop_front(dim + 1))
      stride *= size;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(own);
    Value first = getFirstOfPart(builder, op->getLoc(), number, stride);
    if (own.getFirst())
      first = Arithmetic(builder, op->getLoc()).add(own.getFirst(), first);
    own.getFirstMutable().assign(first);
    own.setWhole(whole);
    return part;
  }
};

} // namespace

void ingot::attachPositionPartitions(MLIRContext &context) {
  RandomUniformOp::attachInterface<RandomModel<RandomUniformOp>>(context);
  DropoutOp::attachInterface<RandomModel<DropoutOp>>(context);
  ConstantOp::attachInterface<ConstantModel>(context);
  IotaOp::attachInterface<IotaModel>(context);
}
