// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Gradients of contractions, which are matmuls again, with the transposes as
// attributes.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"

using namespace mlir;
using namespace ingot;

/// With A' and B' the operands as multiplied, dA' = G B'^T and dB' = A'^T G;
/// where an operand is stored transposed, so is its gradient.
LogicalResult MatmulOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents,
                                 const llvm::BitVector &needed,
                                 MutableArrayRef<Value> operandCotangents) {
  Value lhs = getLhs(), rhs = getRhs();
  Value g = castTo(builder, getLoc(), cotangents[0],
                   tensorType(lhs).getElementType());
  bool lhsStoredTransposed = getTransposeLhs();
  bool rhsStoredTransposed = getTransposeRhs();
  auto matmul = [&](Type type, Value a, bool transposeA, Value b,
                    bool transposeB) -> Value {
    return MatmulOp::create(builder, getLoc(), type, a, b, transposeA,
                            transposeB);
  };
  if (needed[0])
    operandCotangents[0] =
        lhsStoredTransposed
            ? matmul(lhs.getType(), rhs, rhsStoredTransposed, g, true)
            : matmul(lhs.getType(), g, false, rhs, !rhsStoredTransposed);
  if (needed[1])
    operandCotangents[1] =
        rhsStoredTransposed
            ? matmul(rhs.getType(), g, true, lhs, lhsStoredTransposed)
            : matmul(rhs.getType(), lhs, !lhsStoredTransposed, g, false);
  return success();
}
