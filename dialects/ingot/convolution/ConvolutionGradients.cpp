// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Gradients of convolutions and pooling. A convolution and its two gradients
// are one trilinear form, so that the gradients of each are the other two with
// the same window.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/convolution/WindowLayout.h"

using namespace mlir;
using namespace ingot;

using Cotangents = ArrayRef<Value>;
using Needed = const llvm::BitVector &;
using Gradients = MutableArrayRef<Value>;

/// Builds `Op` on two operands with the window of `like`.
template <typename Op, typename Like>
static Value sameWindow(OpBuilder &builder, Like like, Type type, Value a,
                        Value b) {
  return Op::create(builder, like.getLoc(), type, a, b, like.getStrides(),
                    like.getDilations(), like.getPadLow(), like.getPadHigh(),
                    like.getGroups(), like.getChannelsLast(),
                    like.getFilterChannelsLast());
}

LogicalResult ConvOp::buildVjp(OpBuilder &builder, Cotangents g, Needed needed,
                               Gradients out) {
  if (needed[0])
    out[0] = sameWindow<ConvInputGradOp>(builder, *this, getInput().getType(),
                                         g[0], getFilter());
  if (needed[1])
    out[1] = sameWindow<ConvFilterGradOp>(builder, *this, getFilter().getType(),
                                          g[0], getInput());
  return success();
}

LogicalResult ConvInputGradOp::buildVjp(OpBuilder &builder, Cotangents g,
                                        Needed needed, Gradients out) {
  if (needed[0])
    out[0] = sameWindow<ConvOp>(builder, *this, getOutputGrad().getType(), g[0],
                                getFilter());
  if (needed[1])
    out[1] = sameWindow<ConvFilterGradOp>(builder, *this, getFilter().getType(),
                                          getOutputGrad(), g[0]);
  return success();
}

LogicalResult ConvFilterGradOp::buildVjp(OpBuilder &builder, Cotangents g,
                                         Needed needed, Gradients out) {
  if (needed[0])
    out[0] = sameWindow<ConvOp>(builder, *this, getOutputGrad().getType(),
                                getInput(), g[0]);
  if (needed[1])
    out[1] = sameWindow<ConvInputGradOp>(builder, *this, getInput().getType(),
                                         getOutputGrad(), g[0]);
  return success();
}

LogicalResult MaxPoolOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                                  Gradients out) {
  // Indices have no derivative: without a cotangent of the values there is
  // none.
  if (g[0])
    out[0] = MaxPoolGradOp::create(builder, getLoc(), getInput().getType(),
                                   g[0], getIndices(), getKernel(),
                                   getStrides(), getDilations(), getPadLow(),
                                   getPadHigh(), getChannelsLast());
  return success();
}

/// Each window selects the element at its index.
LogicalResult MaxPoolGradOp::buildVjp(OpBuilder &builder, Cotangents g,
                                      Needed needed, Gradients out) {
  if (!needed[0])
    return success();
  WindowLayout layout{getChannelsLast()};
  auto withFlatPlanes = [&](Value value) {
    ArrayRef<int64_t> shape = tensorType(value).getShape();
    int64_t plane = llvm::product_of(layout.spatial(shape));
    return reshapeTo(builder, getLoc(), value,
                     layout.join(shape[0],
                                 shape[layout.channelDim(shape.size())],
                                 ArrayRef(plane)));
  };
  Value indices = withFlatPlanes(getIndices());
  Value taken = TakeAlongOp::create(
      builder, getLoc(),
      RankedTensorType::get(tensorType(indices).getShape(),
                            tensorType(g[0]).getElementType()),
      withFlatPlanes(g[0]), indices, /*dim=*/layout.channelsLast ? 1 : 2);
  out[0] = reshapeTo(builder, getLoc(), taken,
                     tensorType(getOutputGrad()).getShape());
  return success();
}

LogicalResult SumPoolOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                                  Gradients out) {
  out[0] = SumPoolGradOp::create(builder, getLoc(), getInput().getType(), g[0],
                                 getKernel(), getStrides(), getDilations(),
                                 getPadLow(), getPadHigh(), getChannelsLast());
  return success();
}

LogicalResult SumPoolGradOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                                      Gradients out) {
  out[0] = SumPoolOp::create(builder, getLoc(), getOutputGrad().getType(), g[0],
                             getKernel(), getStrides(), getDilations(),
                             getPadLow(), getPadHigh(), getChannelsLast());
  return success();
}
