// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// The library calls of convolutions.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/convolution/WindowLayout.h"
#include "dialects/ingot/ir/CallDescriptor.h"
#include "dialects/ingot/ir/Dialect.h"

using namespace mlir;
using namespace ingot;

/// Returns the descriptor for the three tensors, given in the roles that they
/// have in the forward op.
template <typename Op>
static ingot_conv_desc describe(Op op, Value input, Value filter,
                                Value output) {
  ArrayRef<int64_t> in = tensorType(input).getShape();
  ArrayRef<int64_t> out = tensorType(output).getShape();
  ArrayRef<int64_t> taps = tensorType(filter).getShape();
  WindowLayout layout{op.getChannelsLast()};
  ingot_conv_desc desc = {};
  desc.spatial_rank = static_cast<int64_t>(in.size()) - 2;
  desc.batch = in[0];
  desc.in_channels = in[layout.channelDim(in.size())];
  desc.out_channels = out[layout.channelDim(out.size())];
  desc.groups = op.getGroups();
  llvm::copy(layout.spatial(in), desc.in);
  llvm::copy(layout.spatial(out), desc.out);
  llvm::copy(WindowLayout{op.getFilterChannelsLast()}.spatial(taps),
             desc.kernel);
  llvm::copy(op.getStrides(), desc.stride);
  llvm::copy(op.getDilations(), desc.dilation);
  llvm::copy(op.getPadLow(), desc.pad_low);
  llvm::copy(op.getPadHigh(), desc.pad_high);
  desc.type = getAbiType(getElementTypeOrSelf(input));
  desc.channels_last = op.getChannelsLast();
  desc.filter_channels_last = op.getFilterChannelsLast();
  return desc;
}

#define INGOT_CONVOLUTION(OP, ENTRY, INPUT, FILTER, OUTPUT)                    \
  StringRef OP::getEntry() { return ENTRY; }                                   \
  void OP::describeCall(CallDescriptor &descriptor) {                          \
    descriptor = describe(*this, INPUT(), FILTER(), OUTPUT());                 \
  }

INGOT_CONVOLUTION(ConvOp, "ingot_conv", getInput, getFilter, getResult)
INGOT_CONVOLUTION(ConvInputGradOp, "ingot_conv_input_grad", getResult,
                  getFilter, getOutputGrad)
INGOT_CONVOLUTION(ConvFilterGradOp, "ingot_conv_filter_grad", getInput,
                  getResult, getOutputGrad)
INGOT_CONVOLUTION(ConvStatisticsOp, "ingot_conv_statistics", getInput,
                  getFilter, getResult)
INGOT_CONVOLUTION(ConvScaledFilterGradOp, "ingot_conv_scaled_filter_grad",
                  getInput, getResult, getOutputGrad)

SmallVector<CallBuffer> ConvStatisticsOp::getCallBuffers() {
  SmallVector<CallBuffer> buffers;
  for (Value value :
       SmallVector<Value>{getInput(), getFilter(), getScale(), getShift(),
                          getResult(), getSums(), getSquares()})
    buffers.push_back({value});
  return buffers;
}
SmallVector<CallBuffer> ConvScaledFilterGradOp::getCallBuffers() {
  return detail::operandsAndResults(*this);
}
