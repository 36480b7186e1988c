// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Shape inference and folding of reductions; constraints are those of
// docs/spec/reduction.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/support/ConstantFolding.h"
#include "dialects/ingot/support/Permutation.h"
#include "dialects/ingot/support/Verification.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::detail;

/// The shape of the operand without the reduced dimensions.
static LogicalResult inferReduced(StringRef name,
                                  std::optional<Location> location,
                                  Value operand, ArrayRef<int64_t> dims,
                                  SmallVectorImpl<Type> &types) {
  auto fail = [&](const Twine &message) -> LogicalResult {
    return emitOptionalError(location, "'", name, "' op ", message);
  };
  RankedTensorType from = tensorType(operand);
  if (failed(checkIncreasingDims(fail, "C1", dims, from.getRank())))
    return failure();
  types.push_back(dropDims(from, dims));
  return success();
}

LogicalResult
ReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                           ValueRange operands, DictionaryAttr attributes,
                           OpaqueProperties properties, RegionRange regions,
                           SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  return inferReduced(getOperationName(), location, adaptor.getOperand(),
                      adaptor.getDims(), types);
}

LogicalResult SquaredDeviationsOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  return inferReduced(getOperationName(), location, adaptor.getOperand(),
                      adaptor.getDims(), types);
}

LogicalResult ArgMaxOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto fail = [&](const Twine &message) -> LogicalResult {
    return emitOptionalError(location, "'ingot.argmax' op ", message);
  };
  RankedTensorType from = tensorType(adaptor.getOperand());
  int64_t dim = adaptor.getDim();
  if (failed(checkDim(fail, "C1", dim, from.getRank())))
    return failure();
  if (from.getDimSize(dim) == 0)
    return fail("C2: dimension " + Twine(dim) + " must not be empty");
  types.push_back(
      withElement(dropDims(from, {dim}), IntegerType::get(context, 64)));
  return success();
}

OpFoldResult ReduceOp::fold(FoldAdaptor adaptor) {
  // Over no dimensions, every element is its own sum, product and extremum.
  if (getDims().empty())
    return getOperand();
  return foldReduction(adaptor.getOperand(), getKind(), getDims(),
                       tensorType(getOperand()), tensorType(getResult()));
}

/// Fails unless the remaining dimensions keep their order, because those of the
/// result do.
bool ReduceOp::permute(ArrayRef<int64_t> order) {
  SmallVector<int64_t> dims, kept;
  for (auto [i, dim] : llvm::enumerate(order))
    llvm::is_contained(getDims(), dim) ? dims.push_back(i)
                                       : kept.push_back(dim);
  if (!llvm::is_sorted(kept))
    return false;
  setDims(dims);
  return true;
}
bool ReduceOp::carriesResults() { return false; }
