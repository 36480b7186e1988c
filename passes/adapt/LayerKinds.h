// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The kinds of layers that can have adapters.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_ADAPT_LAYERKINDS_H
#define INGOT_PASSES_ADAPT_LAYERKINDS_H

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace ingot {

/// A read of a weight by a layer.
struct LayerUse {
  /// The product of the input and the weight.
  mlir::Operation *product = nullptr;
  /// The bias is null if there is none.
  mlir::BlockArgument weight, bias;
  /// The product with the bias, in the shape in which it is read.
  mlir::Value result;
};

/// How layers of a kind read their weights, and what their adapters compute.
class LayerKind {
public:
  virtual ~LayerKind() = default;

  /// Returns the layer of an op; nothing if it is none of this kind.
  virtual std::optional<LayerUse> match(mlir::Operation *op) const = 0;
  /// Whether the rule all-linear takes layers of the kind.
  virtual bool isLinear() const { return false; }
  /// Returns the dimensions of the weight that outputs are along, and that the
  /// product reduces; nothing of layers without products.
  virtual std::optional<std::pair<int64_t, int64_t>>
  getMatrixDims(const LayerUse &use) const {
    return isTransposed(use) ? std::pair(1, 0) : std::pair(0, 1);
  }
  /// Whether the weight is [in, out], and not [out, in].
  virtual bool isTransposed(const LayerUse &use) const { return false; }
  /// Returns why a layer cannot have an adapter, as words after its path;
  /// empty if it can.
  virtual llvm::StringRef refuse(const LayerUse &use, int64_t rank) const {
    return "";
  }
  /// Returns what PEFT calls A and B, after the path of the layer.
  virtual llvm::StringRef getNameOfA() const { return ".lora_A.weight"; }
  virtual llvm::StringRef getNameOfB() const { return ".lora_B.weight"; }
  /// Returns the shapes of A and B.
  virtual llvm::SmallVector<int64_t> getShapeOfA(const LayerUse &use,
                                                 int64_t rank) const = 0;
  virtual llvm::SmallVector<int64_t> getShapeOfB(const LayerUse &use,
                                                 int64_t rank) const = 0;
  /// Returns the shape of the numbers of outputs that PEFT stores.
  virtual llvm::SmallVector<int64_t>
  getShapeOfMagnitudes(const LayerUse &use) const {
    return {getShapeOfB(use, /*rank=*/1).front()};
  }
  /// Returns the dimension of the product that outputs are along.
  virtual int64_t getOutputDim(const LayerUse &use) const;
  /// Whether A is zero at first, and B is drawn.
  virtual bool startsWithB() const { return false; }
  /// Returns what the layer multiplies with its weight; null if it selects
  /// rows.
  virtual mlir::Value getInput(const LayerUse &use) const {
    return use.product->getOperand(0);
  }
  /// Builds the product of the input and A, then that of its result and B,
  /// whose elements are in the order of the layer's.
  virtual mlir::Value buildLow(mlir::OpBuilder &builder, const LayerUse &use,
                               mlir::Value input, mlir::Value a) const = 0;
  virtual mlir::Value buildHigh(mlir::OpBuilder &builder, const LayerUse &use,
                                mlir::Value low, mlir::Value b) const = 0;
};

/// Returns all kinds.
llvm::ArrayRef<const LayerKind *> getLayerKinds();

/// Whether a value has the elements of an output of the model, in any shape:
/// the layer that computes it is the head.
bool isOutput(mlir::func::FuncOp forward, mlir::Value value);

} // namespace ingot

#endif // INGOT_PASSES_ADAPT_LAYERKINDS_H
