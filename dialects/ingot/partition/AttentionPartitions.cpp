// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How attention is computed in parts: of the batch, and of the heads, those of
// queries together with the heads of keys and values that they share.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/AttentionSizes.h"
#include "dialects/ingot/partition/PartitionModels.h"

using namespace mlir;
using namespace ingot;

namespace {

/// The random numbers of a part would be those of other positions.
template <typename Op> bool dropsOut(Op attention) {
  return !attention.getRatio().isZero();
}

/// Adds the dimensions of the operands that restrict which keys count. They
/// are behind the `first` ones; along some dimensions they are broadcast.
template <typename Op>
void addRestrictions(FactorBuilder &factors, Op attention, unsigned first,
                     int64_t dim) {
  for (Value value : {Value(attention.getBias()), Value(attention.getMask())}) {
    if (!value)
      continue;
    if (tensorType(value).getDimSize(dim) != 1)
      factors.operand(first, dim);
    ++first;
  }
  if (dim == 0 && attention.getLengths())
    factors.operand(first, 0);
}

/// Adds one dimension to all of some operands and results: of those with four
/// dimensions, and of the log-sum-exp.
void addDims(FactorBuilder &factors, unsigned wide, bool hasOutput,
             int64_t dim) {
  int64_t heads = dim == 2 ? 1 : dim;
  for (unsigned i = 0; i < wide; ++i)
    factors.operand(i, dim);
  if (hasOutput)
    factors.operand(wide, dim).operand(wide + 1, heads).operand(wide + 2, dim);
}

template <typename Op, bool isGradient>
struct SeparateModel : PartitionModel<Op, SeparateModel<Op, isGradient>> {
  SmallVector<Factor> getFactors(Operation *op) const {
    auto attention = cast<Op>(op);
    FactorBuilder factors(op);
    if (dropsOut(attention))
      return {};
    AttentionSizes sizes = attention.getSizes();
    for (int64_t dim : {0, 2}) {
      factors.add(Factor::Free, dim == 0 ? sizes.batch : sizes.keyHeads);
      addDims(factors, 3, isGradient, dim);
      addRestrictions(factors, attention, isGradient ? 6 : 3, dim == 0 ? 0 : 1);
      factors.result(0, dim);
      if (isGradient)
        factors.result(1, dim).result(2, dim);
      else
        factors.result(1, dim == 0 ? 0 : 1);
    }
    return factors.take();
  }
};

/// The heads of queries, keys and values each are a segment.
template <typename Op, bool isGradient>
struct PackedModel : PartitionModel<Op, PackedModel<Op, isGradient>> {
  SmallVector<Factor> getFactors(Operation *op) const {
    auto attention = cast<Op>(op);
    FactorBuilder factors(op);
    if (dropsOut(attention))
      return {};
    AttentionSizes sizes = attention.getSizes();
    int64_t keyHeads = sizes.keyHeads;
    std::array<FactorRange, 3> packed = {
        FactorRange{0, keyHeads, sizes.heads / keyHeads},
        {0, keyHeads, 1},
        {0, keyHeads, 1}};
    for (int64_t dim : {0, 2}) {
      factors.add(Factor::Free, dim == 0 ? sizes.batch : keyHeads);
      addDims(factors, 1, isGradient, dim);
      addRestrictions(factors, attention, isGradient ? 4 : 1, dim == 0 ? 0 : 1);
      factors.result(0, dim);
      if (!isGradient)
        factors.result(1, dim == 0 ? 0 : 1);
      if (dim != 2)
        continue;
      factors.ranges(0, packed);
      if (isGradient)
        factors.resultRanges(0, packed);
    }
    return factors.take();
  }
  void setFactorSize(Operation *op, const Factor &factor, int64_t size) const {
    if (factor.operandDims.front() == 2)
      cast<Op>(op).setKeyHeads(size);
  }
};

} // namespace

void ingot::attachAttentionPartitions(MLIRContext &context) {
  AttentionOp::attachInterface<SeparateModel<AttentionOp, false>>(context);
  AttentionGradOp::attachInterface<SeparateModel<AttentionGradOp, true>>(
      context);
  PackedAttentionOp::attachInterface<PackedModel<PackedAttentionOp, false>>(
      context);
  PackedAttentionGradOp::attachInterface<
      PackedModel<PackedAttentionGradOp, true>>(context);
}
