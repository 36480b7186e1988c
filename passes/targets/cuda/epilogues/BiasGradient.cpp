// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Finds the reductions that the library computes as gradients of biases.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/Views.h"
#include "passes/targets/cuda/epilogues/LibraryEpilogue.h"

using namespace mlir;
using namespace ingot;

/// Returns whether a sum reduces the leading dimensions, or the trailing ones,
/// which have `length` elements.
static bool folds(ReduceOp sum, int64_t length, bool leading) {
  ArrayRef<int64_t> shape = tensorType(sum.getOperand()).getShape();
  int64_t folded = 1;
  bool isBehind = false;
  for (auto [d, size] : llvm::enumerate(shape)) {
    if (size == 1)
      continue;
    bool isFolded =
        llvm::is_contained(sum.getReducedDims(), static_cast<int64_t>(d));
    // After the first dimension of the other kind, there must be none of the
    // first kind.
    isBehind |= isFolded != leading;
    if (isBehind && isFolded == leading)
      return false;
    if (isFolded)
      folded *= size;
  }
  return folded == length;
}

/// Finds the sums of the value's elements, in their type or as f32.
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

namespace {
/// An operand of a matmul, or its result, and the reduction of it that the
/// library supports.
struct Summand {
  Value matrix;
  Summed summed;
  int64_t length;
  bool leading;
};
} // namespace

static std::array<Summand, 2> listOperands(MatmulOp matmul) {
  int64_t k = matmul.getSizes().k;
  return {{{skipReshapes(matmul.getLhs()), Summed::Lhs, k,
            matmul.getTransposeLhs()},
           {skipReshapes(matmul.getRhs()), Summed::Rhs, k,
            !matmul.getTransposeRhs()}}};
}

/// Returns why a library cannot compute a sum with the matmul; empty if it can.
static StringRef refuseSum(MatmulOp matmul, Value sum) {
  MatmulOp::Sizes sizes = matmul.getSizes();
  Type element = tensorType(matmul).getElementType();
  if (sizes.batch != 1)
    return "the matmul is batched";
  if (sizes.m == 1 || sizes.n == 1 || sizes.k == 1)
    return "an operand of the matmul is a vector";
  if (tensorType(sum).getElementType() != element)
    return "its element type differs from the matmul's";
  return element.isF64() ? "it is in f64" : "";
}

SmallVector<BiasGradient>
ingot::findBiasGradients(Operation *call,
                         const std::optional<LibraryEpilogue> &epilogue) {
  SmallVector<BiasGradient> found;
  auto matmul = dyn_cast<MatmulOp>(call);
  if (!matmul)
    return found;
  SmallVector<Summand> summands;
  if (epilogue && (epilogue->activation == Activation::GeluGrad ||
                   epilogue->activation == Activation::ReluGrad))
    summands.push_back({epilogue->result, Summed::Result, matmul.getSizes().m,
                        /*leading=*/true});
  llvm::append_range(summands, listOperands(matmul));
  for (const Summand &summand : summands) {
    SmallVector<ReduceOp> sums;
    findSums(summand.matrix, sums);
    for (ReduceOp sum : sums)
      if (folds(sum, summand.length, summand.leading))
        found.push_back({sum, summand.summed, refuseSum(matmul, sum)});
  }
  return found;
}

SmallVector<Operation *> ingot::findWideBiasGradients(Operation *call) {
  SmallVector<Operation *> found;
  auto matmul = dyn_cast<MatmulOp>(call);
  if (!matmul)
    return found;
  for (const Summand &operand : listOperands(matmul)) {
    auto rounding = operand.matrix.getDefiningOp<CastOp>();
    if (!rounding ||
        !tensorType(rounding.getOperand()).getElementType().isF32())
      continue;
    for (Operation *user : rounding.getOperand().getUsers()) {
      auto sum = dyn_cast<ReduceOp>(user);
      if (sum && sum.getKind() == ReductionKind::Sum &&
          folds(sum, operand.length, operand.leading) &&
          refuseSum(matmul, sum).empty())
        found.push_back(sum);
    }
  }
  return found;
}
