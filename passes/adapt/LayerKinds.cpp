// SPDX-License-Identifier: Apache-2.0

#include "passes/adapt/LayerKinds.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/Teacher.h"
#include "dialects/ingot/support/Views.h"
#include "passes/graph/Projection.h"

using namespace mlir;
using namespace ingot;

using Shape = SmallVector<int64_t>;

static ArrayRef<int64_t> getWeightShape(const LayerUse &use) {
  return tensorType(use.weight).getShape();
}

int64_t LayerKind::getOutputDim(const LayerUse &use) const {
  return tensorType(use.product->getResult(0)).getRank() - 1;
}

namespace {

/// A matmul with a weight.
class LinearKind : public LayerKind {
public:
  std::optional<LayerUse> match(Operation *op) const override {
    auto matmul = dyn_cast<MatmulOp>(op);
    if (!matmul)
      return std::nullopt;
    std::optional<Projection> layer = Projection::of(matmul);
    if (!layer)
      return std::nullopt;
    return LayerUse{op, layer->weight, layer->bias, layer->result};
  }
  bool isLinear() const override { return true; }
  bool isTransposed(const LayerUse &use) const override {
    return !cast<MatmulOp>(use.product).getTransposeRhs();
  }
  Shape getShapeOfA(const LayerUse &use, int64_t rank) const override {
    return {rank, getWeightShape(use)[isTransposed(use) ? 0 : 1]};
  }
  Shape getShapeOfB(const LayerUse &use, int64_t rank) const override {
    return {getWeightShape(use)[isTransposed(use) ? 1 : 0], rank};
  }
  Value buildLow(OpBuilder &builder, const LayerUse &use, Value input,
                 Value a) const override {
    return MatmulOp::create(builder, use.product->getLoc(), input, a,
                            /*transpose_lhs=*/false, /*transpose_rhs=*/true);
  }
  Value buildHigh(OpBuilder &builder, const LayerUse &use, Value low,
                  Value b) const override {
    return buildLow(builder, use, low, b);
  }
};

/// A convolution; A has its kernel, and B one of size 1.
class ConvolutionKind : public LayerKind {
public:
  std::optional<LayerUse> match(Operation *op) const override {
    auto conv = dyn_cast<ConvOp>(op);
    auto weight =
        conv ? dyn_cast<BlockArgument>(conv.getFilter()) : BlockArgument();
    if (!weight || conv.getChannelsLast() || conv.getFilterChannelsLast())
      return std::nullopt;
    LayerUse use{op, weight, {}, op->getResult(0)};
    auto add = use.result.hasOneUse()
                   ? dyn_cast<AddOp>(*use.result.user_begin())
                   : AddOp();
    if (!add)
      return use;
    Value other = add.getLhs() == use.result ? add.getRhs() : add.getLhs();
    auto broadcast = other.getDefiningOp<BroadcastOp>();
    if (broadcast && broadcast.getDims() == ArrayRef<int64_t>{1} &&
        isa<BlockArgument>(broadcast.getOperand())) {
      use.bias = cast<BlockArgument>(broadcast.getOperand());
      use.result = add.getResult();
    }
    return use;
  }
  StringRef refuse(const LayerUse &use, int64_t rank) const override {
    auto conv = cast<ConvOp>(use.product);
    if (conv.getGroups() != 1)
      return "has groups, so that no weight could be exported with an "
             "adapter";
    return "";
  }
  Shape getShapeOfA(const LayerUse &use, int64_t rank) const override {
    Shape shape(getWeightShape(use));
    shape[0] = rank;
    return shape;
  }
  Shape getShapeOfB(const LayerUse &use, int64_t rank) const override {
    Shape shape(getWeightShape(use).size(), 1);
    shape[0] = getWeightShape(use)[0];
    shape[1] = rank;
    return shape;
  }
  Shape getShapeOfMagnitudes(const LayerUse &use) const override {
    Shape shape(getWeightShape(use).size(), 1);
    shape[1] = getWeightShape(use)[0];
    return shape;
  }
  int64_t getOutputDim(const LayerUse &use) const override { return 1; }
  Value buildLow(OpBuilder &builder, const LayerUse &use, Value input,
                 Value a) const override {
    auto conv = cast<ConvOp>(use.product);
    return ConvOp::create(builder, conv.getLoc(), typeOf(use, a), input, a,
                          conv.getStrides(), conv.getDilations(),
                          conv.getPadLow(), conv.getPadHigh(), /*groups=*/1);
  }
  Value buildHigh(OpBuilder &builder, const LayerUse &use, Value low,
                  Value b) const override {
    Shape ones(getWeightShape(use).size() - 2, 1), none(ones.size(), 0);
    return ConvOp::create(builder, use.product->getLoc(), typeOf(use, b), low,
                          b, ones, ones, none, none, /*groups=*/1);
  }

private:
  /// The type of the layer's result with the channels of a filter.
  static RankedTensorType typeOf(const LayerUse &use, Value filter) {
    Shape shape(tensorType(use.product->getResult(0)).getShape());
    shape[1] = tensorType(filter).getShape()[0];
    return RankedTensorType::get(shape, tensorType(filter).getElementType());
  }
};

/// Rows of a table: an adapter is one of its transpose, [out, in].
class EmbeddingKind : public LayerKind {
public:
  std::optional<LayerUse> match(Operation *op) const override {
    auto gather = dyn_cast<GatherOp>(op);
    auto weight =
        gather ? dyn_cast<BlockArgument>(gather.getOperand()) : BlockArgument();
    if (!weight || gather.getDim() != 0 || tensorType(weight).getRank() != 2)
      return std::nullopt;
    return LayerUse{op, weight, {}, op->getResult(0)};
  }
  bool isTransposed(const LayerUse &use) const override { return true; }
  std::optional<std::pair<int64_t, int64_t>>
  getMatrixDims(const LayerUse &) const override {
    return std::nullopt;
  }
  StringRef getNameOfA() const override { return ".lora_embedding_A"; }
  StringRef getNameOfB() const override { return ".lora_embedding_B"; }
  Shape getShapeOfA(const LayerUse &use, int64_t rank) const override {
    return {rank, getWeightShape(use)[0]};
  }
  Shape getShapeOfB(const LayerUse &use, int64_t rank) const override {
    return {getWeightShape(use)[1], rank};
  }
  bool startsWithB() const override { return true; }
  Value getInput(const LayerUse &use) const override { return {}; }
  Value buildLow(OpBuilder &builder, const LayerUse &use, Value,
                 Value a) const override {
    auto gather = cast<GatherOp>(use.product);
    Location loc = gather.getLoc();
    Value low =
        GatherOp::create(builder, loc, a, gather.getIndices(), /*dim=*/1);
    ArrayRef<int64_t> shape = tensorType(low).getShape();
    return reshapeTo(builder, loc, low,
                     {shape[0], llvm::product_of(shape.drop_front())});
  }
  Value buildHigh(OpBuilder &builder, const LayerUse &use, Value low,
                  Value b) const override {
    return MatmulOp::create(builder, use.product->getLoc(), low, b,
                            /*transpose_lhs=*/true, /*transpose_rhs=*/true);
  }
};

} // namespace

ArrayRef<const LayerKind *> ingot::getLayerKinds() {
  static const LinearKind linear;
  static const ConvolutionKind convolution;
  static const EmbeddingKind embedding;
  static const LayerKind *const all[] = {&linear, &convolution, &embedding};
  return all;
}

bool ingot::isOutput(func::FuncOp forward, Value value) {
  Signature signature(forward);
  for (OpOperand &output : signature.getReturn()->getOpOperands())
    if (!isPaired(signature.resultName(output.getOperandNumber())) &&
        skipReshapes(output.get()) == skipReshapes(value))
      return true;
  return false;
}
