// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Verification and shape inference of the shape ops; constraints are those of
// docs/spec/shape.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/support/Verification.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::detail;

/// Inference reports at an optional location, with the prefix that emitOpError
/// would print.
template <typename Op> static auto failAt(std::optional<Location> location) {
  return [location](const Twine &message) -> LogicalResult {
    return emitOptionalError(location, "'", Op::getOperationName(), "' op ",
                             message);
  };
}

LogicalResult
ConstantOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                             ValueRange operands, DictionaryAttr attributes,
                             OpaqueProperties properties, RegionRange regions,
                             SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto type = dyn_cast<RankedTensorType>(adaptor.getValue().getType());
  if (!type)
    return failAt<ConstantOp>(location)("C1: the value must be a tensor");
  types.push_back(type);
  return success();
}

LogicalResult IotaOp::verify() {
  return checkDim([&](const Twine &m) { return emitOpError(m); }, "C1",
                  getDim(), tensorType(getResult()).getRank());
}

LogicalResult BroadcastOp::verify() {
  auto fail = [&](const Twine &message) { return emitOpError(message); };
  RankedTensorType from = tensorType(getOperand());
  RankedTensorType to = tensorType(getResult());
  if (failed(checkElement(fail, "C1", "the result", from.getElementType(),
                          to.getElementType())))
    return failure();
  if (static_cast<int64_t>(getDims().size()) != from.getRank())
    return emitOpError("C2: dims must have an entry for each of the operand's ")
           << from.getRank() << " dimensions, got " << listText(getDims());
  if (failed(checkIncreasingDims(fail, "C3", getDims(), to.getRank())))
    return failure();
  for (auto [i, dim] : llvm::enumerate(getDims()))
    if (from.getDimSize(i) != 1 && from.getDimSize(i) != to.getDimSize(dim))
      return emitOpError("C4: operand dimension ")
             << i << " must have size 1 or that of result dimension " << dim
             << ", want " << to.getDimSize(dim) << ", got "
             << from.getDimSize(i);
  return success();
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = tensorType(getOperand());
  RankedTensorType to = tensorType(getResult());
  if (failed(checkElement([&](const Twine &m) { return emitOpError(m); }, "C1",
                          "the result", from.getElementType(),
                          to.getElementType())))
    return failure();
  if (from.getNumElements() != to.getNumElements())
    return emitOpError("C2: the result must have as many elements as the "
                       "operand, want ")
           << from.getNumElements() << ", got " << to.getNumElements();
  return success();
}

LogicalResult
TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                              ValueRange operands, DictionaryAttr attributes,
                              OpaqueProperties properties, RegionRange regions,
                              SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  RankedTensorType from = tensorType(adaptor.getOperand());
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, from.getRank())))
    return failAt<TransposeOp>(location)(
        "C1: permutation must hold each dimension below " +
        Twine(from.getRank()) + " once, got " + listText(permutation));
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(from.getDimSize(dim));
  types.push_back(RankedTensorType::get(shape, from.getElementType()));
  return success();
}

LogicalResult
SliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                          ValueRange operands, DictionaryAttr attributes,
                          OpaqueProperties properties, RegionRange regions,
                          SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto fail = failAt<SliceOp>(location);
  RankedTensorType from = tensorType(adaptor.getOperand());
  ArrayRef<int64_t> starts = adaptor.getStarts(), limits = adaptor.getLimits(),
                    strides = adaptor.getStrides();
  int64_t rank = from.getRank();
  if (failed(checkEntries(fail, "C1", "starts", starts, rank, 0)) ||
      failed(checkEntries(fail, "C1", "limits", limits, rank, 0)) ||
      failed(checkEntries(fail, "C2", "strides", strides, rank, 1)))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < rank; ++i) {
    if (starts[i] > limits[i] || limits[i] > from.getDimSize(i))
      return fail("C3: dimension " + Twine(i) + " needs start <= limit <= " +
                  Twine(from.getDimSize(i)) + ", got start " +
                  Twine(starts[i]) + " and limit " + Twine(limits[i]));
    shape.push_back(llvm::divideCeil(limits[i] - starts[i], strides[i]));
  }
  types.push_back(RankedTensorType::get(shape, from.getElementType()));
  return success();
}

LogicalResult
PadOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                        ValueRange operands, DictionaryAttr attributes,
                        OpaqueProperties properties, RegionRange regions,
                        SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto fail = failAt<PadOp>(location);
  RankedTensorType from = tensorType(adaptor.getOperand());
  ArrayRef<int64_t> low = adaptor.getLow(), high = adaptor.getHigh(),
                    interior = adaptor.getInterior();
  int64_t rank = from.getRank();
  if (failed(checkEntries(fail, "C1", "low", low, rank, 0)) ||
      failed(checkEntries(fail, "C1", "high", high, rank, 0)) ||
      failed(checkEntries(fail, "C1", "interior", interior, rank, 0)))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t size = from.getDimSize(i), gaps = 0, total = 0;
    if (llvm::MulOverflow(std::max<int64_t>(size - 1, 0), interior[i], gaps) ||
        llvm::AddOverflow(size, gaps, total) ||
        llvm::AddOverflow(total, low[i], total) ||
        llvm::AddOverflow(total, high[i], total))
      return fail("C2: the size of dimension " + Twine(i) + " overflows");
    shape.push_back(total);
  }
  if (failed(checkSize(fail, "C2", shape)))
    return failure();
  types.push_back(RankedTensorType::get(shape, from.getElementType()));
  return success();
}

LogicalResult
ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                           ValueRange operands, DictionaryAttr attributes,
                           OpaqueProperties properties, RegionRange regions,
                           SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto fail = failAt<ConcatOp>(location);
  if (operands.empty())
    return fail("C1: must have an input");
  RankedTensorType first = tensorType(operands.front());
  int64_t dim = adaptor.getDim();
  if (failed(checkDim(fail, "C2", dim, first.getRank())))
    return failure();
  SmallVector<int64_t> shape(first.getShape());
  for (Value input : operands.drop_front()) {
    RankedTensorType type = tensorType(input);
    if (failed(checkElement(fail, "C3", "every input", first.getElementType(),
                            type.getElementType())))
      return failure();
    if (type.getRank() != first.getRank())
      return fail("C3: every input must have rank " + Twine(first.getRank()) +
                  ", got " + Twine(type.getRank()));
    SmallVector<int64_t> want(first.getShape());
    want[dim] = type.getDimSize(dim);
    if (failed(checkShape(fail, "C3", "every input", want, type.getShape())))
      return failure();
    shape[dim] += type.getDimSize(dim);
  }
  types.push_back(RankedTensorType::get(shape, first.getElementType()));
  return success();
}

LogicalResult ReverseOp::verify() {
  return checkIncreasingDims([&](const Twine &m) { return emitOpError(m); },
                             "C1", getDims(),
                             tensorType(getOperand()).getRank());
}

/// Checks the types of booleans and of the bytes that they are packed in.
static LogicalResult verifyPacked(Operation *op, Value booleans, Value bytes) {
  constexpr int64_t bitsOfByte = 8;
  ArrayRef<int64_t> one = tensorType(booleans).getShape();
  ArrayRef<int64_t> other = tensorType(bytes).getShape();
  if (one.empty() || one.size() != other.size() ||
      one.drop_back() != other.drop_back())
    return op->emitOpError(
               "C1: shapes must be equal except for the last dimension, got ")
           << booleans.getType() << " and " << bytes.getType();
  if (one.back() < 1 || other.back() * bitsOfByte < one.back())
    return op->emitOpError("C2: ") << other.back() << " bytes cannot hold "
                                   << one.back() << " booleans";
  return success();
}

LogicalResult PackBitsOp::verify() {
  return verifyPacked(*this, getOperand(), getResult());
}

LogicalResult UnpackBitsOp::verify() {
  return verifyPacked(*this, getResult(), getOperand());
}

/// Returns `shape` with the dimension `dim` replaced by the dimensions `by`.
static SmallVector<int64_t> replaceDim(ArrayRef<int64_t> shape, int64_t dim,
                                       ArrayRef<int64_t> by) {
  SmallVector<int64_t> replaced(shape.take_front(dim));
  llvm::append_range(replaced, by);
  llvm::append_range(replaced, shape.drop_front(dim + 1));
  return replaced;
}

LogicalResult
GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                           ValueRange operands, DictionaryAttr attributes,
                           OpaqueProperties properties, RegionRange regions,
                           SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto fail = failAt<GatherOp>(location);
  RankedTensorType from = tensorType(adaptor.getOperand());
  RankedTensorType indices = tensorType(adaptor.getIndices());
  int64_t dim = adaptor.getDim();
  if (failed(checkDim(fail, "C1", dim, from.getRank())))
    return failure();
  if (from.getDimSize(dim) == 0 && indices.getNumElements() != 0)
    return fail("C2: dimension " + Twine(dim) + " must not be empty");
  SmallVector<int64_t> shape =
      replaceDim(from.getShape(), dim, indices.getShape());
  if (failed(checkSize(fail, "C3", shape)))
    return failure();
  types.push_back(RankedTensorType::get(shape, from.getElementType()));
  return success();
}

LogicalResult
TakeAlongOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                              ValueRange operands, DictionaryAttr attributes,
                              OpaqueProperties properties, RegionRange regions,
                              SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto fail = failAt<TakeAlongOp>(location);
  RankedTensorType from = tensorType(adaptor.getOperand());
  RankedTensorType indices = tensorType(adaptor.getIndices());
  int64_t dim = adaptor.getDim();
  if (failed(checkDim(fail, "C1", dim, from.getRank())))
    return failure();
  if (indices.getRank() != from.getRank())
    return fail("C2: the indices must have the operand's rank " +
                Twine(from.getRank()) + ", got " + Twine(indices.getRank()));
  SmallVector<int64_t> want(from.getShape());
  want[dim] = indices.getDimSize(dim);
  if (failed(checkShape(fail, "C2", "indices", want, indices.getShape())))
    return failure();
  if (from.getDimSize(dim) == 0 && indices.getNumElements() != 0)
    return fail("C3: dimension " + Twine(dim) + " must not be empty");
  types.push_back(indices.clone(from.getElementType()));
  return success();
}

LogicalResult ScatterAddOp::verify() {
  auto fail = [&](const Twine &message) { return emitOpError(message); };
  RankedTensorType result = tensorType(getResult());
  RankedTensorType updates = tensorType(getUpdates());
  RankedTensorType indices = tensorType(getIndices());
  if (failed(checkDim(fail, "C1", getDim(), result.getRank())) ||
      failed(checkElement(fail, "C2", "the result", updates.getElementType(),
                          result.getElementType())))
    return failure();
  if (result.getDimSize(getDim()) == 0 && indices.getNumElements() != 0)
    return emitOpError("C3: dimension ") << getDim() << " must not be empty";
  if (getInit() && getInit().getType() != result)
    return emitOpError("C5: init must have the result's type ")
           << result << ", got " << getInit().getType();
  return checkShape(fail, "C4", "updates",
                    replaceDim(result.getShape(), getDim(), indices.getShape()),
                    updates.getShape());
}

ElementIndices GatherOp::getElementIndices() {
  return {getIndices(), tensorType(getOperand()).getDimSize(getDim())};
}
ElementIndices TakeAlongOp::getElementIndices() {
  return {getIndices(), tensorType(getOperand()).getDimSize(getDim())};
}
ElementIndices ScatterAddOp::getElementIndices() {
  return {getIndices(), tensorType(getResult()).getDimSize(getDim())};
}
