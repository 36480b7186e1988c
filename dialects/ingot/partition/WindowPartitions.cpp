// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How convolutions and pools are computed in parts: of the batch, of channels
// and of groups. Windows of neighbouring parts overlap, so that planes stay
// whole.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/convolution/WindowLayout.h"
#include "dialects/ingot/partition/PartitionModels.h"

using namespace mlir;
using namespace ingot;

namespace {

enum class Tensor { Input, Filter, Output };

/// An op on two of the tensors of a convolution, whose result is the third.
template <typename Op, Tensor lhs, Tensor rhs, Tensor result>
struct ConvolutionModel
    : PartitionModel<Op, ConvolutionModel<Op, lhs, rhs, result>> {
  SmallVector<Factor> getFactors(Operation *op) const {
    FactorBuilder factors(op);
    Dims dims(cast<Op>(op));
    auto groups = static_cast<int64_t>(cast<Op>(op).getGroups());
    auto sizeOf = [&](Tensor tensor, int64_t dim) {
      Value value = tensor == lhs   ? op->getOperand(0)
                    : tensor == rhs ? op->getOperand(1)
                                    : op->getResult(0);
      return tensorType(value).getDimSize(dim);
    };
    auto add = [&](int64_t size, ArrayRef<std::pair<Tensor, int64_t>> places) {
      bool isInResult = llvm::any_of(
          places, [](auto place) { return place.first == result; });
      factors.add(isInResult ? Factor::Free : Factor::Sum, size);
      for (auto [tensor, dim] : places)
        if (tensor == result)
          factors.result(0, dim);
        else
          factors.operand(tensor == lhs ? 0u : 1u, dim);
    };
    add(sizeOf(Tensor::Input, 0), {{Tensor::Input, 0}, {Tensor::Output, 0}});
    std::pair<Tensor, int64_t> input = {Tensor::Input, dims.channels},
                               output = {Tensor::Output, dims.channels},
                               filter = {Tensor::Filter, 0};
    // The channels of a group lie together.
    if (groups != 1) {
      add(groups, {input, output, filter});
      return factors.take();
    }
    add(sizeOf(Tensor::Filter, 0), {output, filter});
    add(sizeOf(Tensor::Input, dims.channels),
        {input, {Tensor::Filter, dims.filterChannels}});
    return factors.take();
  }
  void setFactorSize(Operation *op, const Factor &factor, int64_t size) const {
    auto conv = cast<Op>(op);
    bool areGroups =
        conv.getGroups() != 1 && llvm::count(factor.operandDims, -1) +
                                         llvm::count(factor.resultDims, -1) ==
                                     0;
    if (areGroups)
      conv.setGroups(size);
  }

private:
  struct Dims {
    int64_t channels, filterChannels;
    explicit Dims(Op conv) {
      int64_t rank = tensorType(conv->getOperand(0)).getRank();
      channels = WindowLayout{conv.getChannelsLast()}.channelDim(rank);
      filterChannels =
          WindowLayout{conv.getFilterChannelsLast()}.channelDim(rank);
    }
  };
};

/// Each channel of each sample by itself.
template <typename Op> struct PoolModel : PartitionModel<Op, PoolModel<Op>> {
  SmallVector<Factor> getFactors(Operation *op) const {
    FactorBuilder factors(op);
    RankedTensorType type = tensorType(op->getOperand(0));
    WindowLayout layout{cast<Op>(op).getChannelsLast()};
    for (int64_t dim : {int64_t(0), layout.channelDim(type.getRank())}) {
      factors.add(Factor::Free, type.getDimSize(dim));
      for (unsigned i = 0, e = op->getNumOperands(); i < e; ++i)
        factors.operand(i, dim);
      for (unsigned i = 0, e = op->getNumResults(); i < e; ++i)
        factors.result(i, dim);
    }
    return factors.take();
  }
};

} // namespace

void ingot::attachWindowPartitions(MLIRContext &context) {
  ConvOp::attachInterface<
      ConvolutionModel<ConvOp, Tensor::Input, Tensor::Filter, Tensor::Output>>(
      context);
  ConvInputGradOp::attachInterface<ConvolutionModel<
      ConvInputGradOp, Tensor::Output, Tensor::Filter, Tensor::Input>>(context);
  ConvFilterGradOp::attachInterface<ConvolutionModel<
      ConvFilterGradOp, Tensor::Output, Tensor::Input, Tensor::Filter>>(
      context);
  MaxPoolOp::attachInterface<PoolModel<MaxPoolOp>>(context);
  MaxPoolGradOp::attachInterface<PoolModel<MaxPoolGradOp>>(context);
  SumPoolOp::attachInterface<PoolModel<SumPoolOp>>(context);
  SumPoolGradOp::attachInterface<PoolModel<SumPoolGradOp>>(context);
}
