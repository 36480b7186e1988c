// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Shape ops on tensors whose dimensions are permuted.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/Permutation.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::detail;

bool ConstantOp::permute(ArrayRef<int64_t> order) {
  auto value = dyn_cast<DenseElementsAttr>(getValue());
  if (!value || !value.isSplat())
    return false;
  RankedTensorType type = tensorType(getResult());
  setValueAttr(value.resizeSplat(RankedTensorType::get(
      permuted(type.getShape(), order), type.getElementType())));
  return true;
}

bool IotaOp::permute(ArrayRef<int64_t> order) {
  setDim(inverseOf(order)[getDim()]);
  return true;
}

/// Updates `dims`, since the operand keeps its order. Fails where increasing
/// `dims` cannot express the new order.
bool BroadcastOp::permute(ArrayRef<int64_t> order) {
  SmallVector<int64_t> inverse = inverseOf(order), dims;
  for (int64_t dim : getDims())
    dims.push_back(inverse[dim]);
  if (!llvm::is_sorted(dims))
    return false;
  setDims(dims);
  return true;
}
bool BroadcastOp::carriesOperand(unsigned) { return false; }

bool SliceOp::permute(ArrayRef<int64_t> order) {
  setStarts(permuted(getStarts(), order));
  setLimits(permuted(getLimits(), order));
  setStrides(permuted(getStrides(), order));
  return true;
}

bool PadOp::permute(ArrayRef<int64_t> order) {
  setLow(permuted(getLow(), order));
  setHigh(permuted(getHigh(), order));
  setInterior(permuted(getInterior(), order));
  return true;
}

bool ConcatOp::permute(ArrayRef<int64_t> order) {
  setDim(inverseOf(order)[getDim()]);
  return true;
}

bool ReverseOp::permute(ArrayRef<int64_t> order) {
  SmallVector<int64_t> inverse = inverseOf(order), dims;
  for (int64_t dim : getDims())
    dims.push_back(inverse[dim]);
  llvm::sort(dims);
  setDims(dims);
  return true;
}
