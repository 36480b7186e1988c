// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How composites are computed in parts: along the dimensions that they do not
// normalize. Along the others, the ops that they are made of have parts.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/distillation/DistillationOps.h"
#include "dialects/ingot/partition/PartitionModels.h"

using namespace mlir;
using namespace ingot;

namespace {

template <typename Op>
struct SoftmaxModel : PartitionModel<Op, SoftmaxModel<Op>> {
  SmallVector<Factor> getFactors(Operation *op) const {
    FactorBuilder factors(op);
    RankedTensorType type = tensorType(op->getOperand(0));
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (dim != static_cast<int64_t>(cast<Op>(op).getDim()))
        factors.add(Factor::Free, type.getDimSize(dim))
            .operand(0, dim)
            .result(0, dim);
    return factors.take();
  }
};

/// Scale and bias have the dimensions that are normalized.
template <typename Op>
struct TrailingNormModel : PartitionModel<Op, TrailingNormModel<Op>> {
  SmallVector<Factor> getFactors(Operation *op) const {
    FactorBuilder factors(op);
    RankedTensorType type = tensorType(op->getOperand(0));
    auto first = static_cast<int64_t>(cast<Op>(op).getDim());
    for (int64_t dim = 0; dim < first; ++dim) {
      factors.add(Factor::Free, type.getDimSize(dim)).operand(0, dim);
      for (unsigned i = 0, e = op->getNumResults(); i < e; ++i)
        factors.result(i, dim);
    }
    return factors.take();
  }
};

struct BatchNormModel : PartitionModel<BatchNormOp, BatchNormModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    FactorBuilder factors(op);
    factors.add(Factor::Free, tensorType(op->getOperand(0)).getDimSize(1));
    for (unsigned i = 0, e = op->getNumOperands(); i < e; ++i)
      factors.operand(i, i == 0 ? 1 : 0);
    for (unsigned i = 0, e = op->getNumResults(); i < e; ++i)
      factors.result(i, i == 0 ? 1 : 0);
    return factors.take();
  }
};

struct CrossEntropyModel : PartitionModel<CrossEntropyOp, CrossEntropyModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    auto loss = cast<CrossEntropyOp>(op);
    FactorBuilder factors(op);
    RankedTensorType type = tensorType(loss.getLogits());
    auto classes = static_cast<int64_t>(loss.getDim());
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      int64_t kept = dim < classes ? dim : dim - 1;
      if (dim != classes)
        factors.add(Factor::Free, type.getDimSize(dim))
            .operand(0, dim)
            .operand(1, kept)
            .result(0, kept)
            .result(1, kept);
    }
    return factors.take();
  }
};

struct SoftmaxDivergenceModel
    : PartitionModel<SoftmaxDivergenceOp, SoftmaxDivergenceModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    auto loss = cast<SoftmaxDivergenceOp>(op);
    FactorBuilder factors(op);
    RankedTensorType type = tensorType(loss.getLogits());
    auto classes = static_cast<int64_t>(loss.getDim());
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      if (dim == classes)
        continue;
      int64_t kept = dim < classes ? dim : dim - 1;
      factors.add(Factor::Free, type.getDimSize(dim))
          .operand(0, dim)
          .operand(1, dim)
          .result(0, kept)
          .result(1, kept)
          .result(2, kept);
    }
    return factors.take();
  }
};

} // namespace

void ingot::attachNormalizationPartitions(MLIRContext &context) {
  SoftmaxOp::attachInterface<SoftmaxModel<SoftmaxOp>>(context);
  LogSoftmaxOp::attachInterface<SoftmaxModel<LogSoftmaxOp>>(context);
  LayerNormOp::attachInterface<TrailingNormModel<LayerNormOp>>(context);
  RmsNormOp::attachInterface<TrailingNormModel<RmsNormOp>>(context);
  BatchNormOp::attachInterface<BatchNormModel>(context);
  CrossEntropyOp::attachInterface<CrossEntropyModel>(context);
  SoftmaxDivergenceOp::attachInterface<SoftmaxDivergenceModel>(context);
}
