// SPDX-License-Identifier: Apache-2.0

// Matmuls.

#include "frontends/onnx/model/Node.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// Returns the operand of a transpose that only exchanges the last two
/// dimensions, if the value is one.
static Value untransposed(Value value) {
  auto op = value.getDefiningOp<TransposeOp>();
  if (!op)
    return nullptr;
  ArrayRef<int64_t> permutation = op.getPermutation();
  size_t rank = permutation.size();
  for (size_t i = 0; i + 2 < rank; ++i)
    if (permutation[i] != static_cast<int64_t>(i))
      return nullptr;
  if (rank < 2 || permutation[rank - 1] + 1 != permutation[rank - 2])
    return nullptr;
  return op.getOperand();
}

/// Builds the matmul, reading transposed operands in place.
static Value buildMatmul(Node &node, Value lhs, Value rhs, bool transposeLhs,
                         bool transposeRhs) {
  if (Value source = untransposed(lhs)) {
    lhs = source;
    transposeLhs = !transposeLhs;
  }
  if (Value source = untransposed(rhs)) {
    rhs = source;
    transposeRhs = !transposeRhs;
  }
  Shape shape(tensorType(lhs).getShape().drop_back(2));
  size_t rank = shape.size();
  shape.push_back(tensorType(lhs).getDimSize(rank + (transposeLhs ? 1 : 0)));
  shape.push_back(tensorType(rhs).getDimSize(rank + (transposeRhs ? 0 : 1)));
  auto type = RankedTensorType::get(shape, tensorType(lhs).getElementType());
  return MatmulOp::create(node.b, node.loc, type, lhs, rhs, transposeLhs,
                          transposeRhs);
}

FailureOr<Value> Node::matmul(Value lhs, Value rhs) {
  RankedTensorType left = tensorType(lhs), right = tensorType(rhs);
  auto mismatch = [&] {
    return malformed("shapes " + shapeText(left.getShape()) + " and " +
                     shapeText(right.getShape()) + " do not multiply");
  };
  if (left.getRank() == 0 || right.getRank() == 0)
    return mismatch();
  if (!isa<FloatType>(left.getElementType()) ||
      left.getElementType() != right.getElementType())
    return unsupported("a matmul of these element types");
  // Vectors become matrices of one row or column, which is then dropped.
  bool leftVector = left.getRank() == 1, rightVector = right.getRank() == 1;
  if (leftVector)
    lhs = reshape(lhs, {1, left.getDimSize(0)});
  if (rightVector)
    rhs = reshape(rhs, {right.getDimSize(0), 1});
  ArrayRef<int64_t> l = tensorType(lhs).getShape(),
                    r = tensorType(rhs).getShape();
  if (l.back() != r[r.size() - 2])
    return mismatch();
  Shape batch(l.drop_back(2));
  Value matmul;
  if (r.size() == 2 && l.size() > 2) {
    // With one matrix for the whole batch, all rows are multiplied at once.
    int64_t rows = l[l.size() - 2];
    for (int64_t size : batch)
      rows *= size;
    matmul =
        buildMatmul(*this, reshape(lhs, {rows, l.back()}), rhs, false, false);
  } else {
    ArrayRef<int64_t> rightBatch = r.drop_back(2);
    batch.insert(batch.begin(),
                 std::max(rightBatch.size(), batch.size()) - batch.size(), 1);
    for (size_t i = 0; i < rightBatch.size(); ++i) {
      int64_t &common = batch[batch.size() - rightBatch.size() + i];
      if (common == 1)
        common = rightBatch[i];
      else if (rightBatch[i] != 1 && rightBatch[i] != common)
        return mismatch();
    }
    auto spread = [&](Value value) {
      Shape shape(batch);
      llvm::append_range(shape, tensorType(value).getShape().take_back(2));
      return broadcast(value, shape);
    };
    matmul = buildMatmul(*this, spread(lhs), spread(rhs), false, false);
  }
  Shape shape(batch);
  if (!leftVector)
    shape.push_back(l[l.size() - 2]);
  if (!rightVector)
    shape.push_back(r.back());
  return reshape(matmul, shape);
}

static LogicalResult importMatMul(Node &node) {
  FailureOr<Value> matmul = node.matmul(node.in(0), node.in(1));
  if (failed(matmul))
    return failure();
  return node.result(*matmul);
}

/// Imports Gemm: alpha * A B + beta * C, where C is broadcast.
static LogicalResult importGemm(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  bool transposeA = node.intAttr("transA", 0);
  bool transposeB = node.intAttr("transB", 0);
  if (node.rank(0) != 2 || node.rank(1) != 2 ||
      node.shape(0)[transposeA ? 0 : 1] != node.shape(1)[transposeB ? 1 : 0])
    return node.malformed("shapes " + shapeText(node.shape(0)) + " and " +
                          shapeText(node.shape(1)) + " do not multiply");
  Value result =
      buildMatmul(node, node.in(0), node.in(1), transposeA, transposeB);
  if (double alpha = node.floatAttr("alpha", 1.0); alpha != 1.0)
    result = node.binary<MulOp>(result, alpha);
  double beta = node.floatAttr("beta", 1.0);
  if (!node.has(2) || beta == 0.0)
    return node.result(result);
  Value bias = node.in(2);
  ArrayRef<int64_t> shape = tensorType(result).getShape();
  FailureOr<Shape> common = node.broadcastShape({result, bias});
  if (failed(common))
    return failure();
  if (!llvm::equal(*common, shape))
    return node.malformed("C " + shapeText(node.shape(2)) +
                          " does not broadcast to " + shapeText(shape));
  if (beta != 1.0)
    bias = node.binary<MulOp>(bias, beta);
  return node.result(node.binary<AddOp>(result, node.broadcast(bias, shape)));
}

void onnx_import::registerContraction(Registry &registry) {
  registry.add("MatMul", importMatMul);
  registry.add("Gemm", importGemm);
}
