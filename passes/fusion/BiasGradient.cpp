//===----------------------------------------------------------------------===//
// Which sums are gradients of biases to a library.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Builders.h"
#include "passes/fusion/LibraryEpilogue.h"

using namespace mlir;
using namespace ingot;

/// Whether a sum folds the leading dimensions, or the trailing ones, which have
/// `length` elements.
static bool folds(ReduceOp sum, int64_t length, bool leading) {
  ArrayRef<int64_t> shape = tensorType(sum.getOperand()).getShape();
  int64_t folded = 1;
  bool isBehind = false;
  for (auto [d, size] : llvm::enumerate(shape)) {
    if (size == 1)
      continue;
    bool isFolded =
        llvm::is_contained(sum.getReducedDims(), static_cast<int64_t>(d));
    // Once the other kind begins, the first does not come again.
    isBehind |= isFolded != leading;
    if (isBehind && isFolded == leading)
      return false;
    if (isFolded)
      folded *= size;
  }
  return folded == length;
}

/// Sums of the value's elements as they are, or as f32.
static void findSums(Value value, SmallVectorImpl<ReduceOp> &sums) {
  for (Operation *user : value.getUsers()) {
    auto cast = dyn_cast<CastOp>(user);
    auto sum = dyn_cast<ReduceOp>(user);
    if (isa<ReshapeOp>(user) ||
        (cast && tensorType(cast).getElementType().isF32()))
      findSums(user->getResult(0), sums);
    else if (sum && sum.getKind() == ReductionKind::Sum)
      sums.push_back(sum);
  }
}

SmallVector<BiasGradient>
ingot::findBiasGradients(Operation *call,
                         const std::optional<LibraryEpilogue> &epilogue) {
  SmallVector<BiasGradient> found;
  auto product = dyn_cast<MatmulOp>(call);
  if (!product)
    return found;
  MatmulOp::Sizes sizes = product.getSizes();
  Type element = tensorType(product).getElementType();
  auto find = [&](Value matrix, Summed summed, int64_t length, bool leading) {
    while (auto reshape = matrix.getDefiningOp<ReshapeOp>())
      matrix = reshape.getOperand();
    SmallVector<ReduceOp> sums;
    findSums(matrix, sums);
    for (ReduceOp sum : sums) {
      if (!folds(sum, length, leading))
        continue;
      StringRef reason;
      if (sizes.batch != 1)
        reason = "the product is one of several";
      else if (sizes.m == 1 || sizes.n == 1 || sizes.k == 1)
        reason = "a matrix of the product is a vector";
      else if (tensorType(sum).getElementType() != element)
        reason = "it has not the product's type";
      else if (!element.isF32() && element.getIntOrFloatBitWidth() != 16)
        reason = "it is in f64";
      found.push_back({sum, summed, reason});
    }
  };
  if (epilogue && (epilogue->activation == Activation::GeluGrad ||
                   epilogue->activation == Activation::ReluGrad))
    find(epilogue->result, Summed::Result, sizes.m, /*leading=*/true);
  find(product.getLhs(), Summed::Lhs, sizes.k, product.getTransposeLhs());
  find(product.getRhs(), Summed::Rhs, sizes.k, !product.getTransposeRhs());
  return found;
}
