// SPDX-License-Identifier: Apache-2.0

// Functions of matrices.

#include "dialects/ingot/builders/Arithmetic.h"
#include "frontends/onnx/model/Node.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

/// Each column is eliminated in turn: more would be a large graph.
constexpr int64_t kMaxSize = 64;

/// Returns the determinant by Gaussian elimination: the product of pivots, each
/// the largest element of its column, with the sign of the exchanges of rows.
/// Its gradient is defined where the determinant is not 0.
LogicalResult importDet(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  int64_t rank = node.rank(0);
  if (rank < 2 || node.shape(0)[rank - 1] != node.shape(0)[rank - 2])
    return node.malformed("a tensor of shape " + shapeText(node.shape(0)));
  int64_t size = node.shape(0)[rank - 1], batch = 1;
  Shape result(node.shape(0).drop_back(2));
  for (int64_t length : result)
    batch *= length;
  if (size > kMaxSize)
    return node.unsupported("a matrix of " + Twine(size) + " rows");
  Arithmetic a(node.b, node.loc);
  Type element = computeElement(node.in(0));
  Type i64 = node.b.getI64Type();
  Value x = node.reshape(node.cast(node.in(0), element), {batch, size, size});
  Value product = a.constant(RankedTensorType::get({batch}, element), 1.0);
  for (int64_t left = size; left > 0; --left) {
    Shape square = {batch, left, left};
    Value column = node.reshape(node.sliceDim(x, 2, 0, 1), {batch, left});
    Value row =
        ArgMaxOp::create(node.b, node.loc, RankedTensorType::get({batch}, i64),
                         a.abs(column), 1);
    Value index = a.broadcast(row, {batch, 1, left}, {0});
    Value pivotRow = TakeAlongOp::create(
        node.b, node.loc, RankedTensorType::get({batch, 1, left}, element), x,
        index, 1);
    Value pivot = node.reshape(node.sliceDim(pivotRow, 2, 0, 1), {batch});
    // The first row takes the pivot's place.
    Value isFirst = a.compare(Predicate::EQ, row, 0.0);
    product = a.mul(product, a.select(isFirst, pivot, a.neg(pivot)));
    if (left == 1)
      break;
    Value isPivot =
        a.compare(Predicate::EQ, a.iota(RankedTensorType::get(square, i64), 1),
                  a.broadcast(row, square, {0}));
    Value first = node.broadcast(node.sliceDim(x, 1, 0, 1), square);
    x = node.sliceDim(a.select(isPivot, first, x), 1, 1, left);
    // A pivot of 0 leaves nothing to eliminate.
    Value isZero = a.compare(Predicate::EQ, pivot, 0.0);
    Value divisor = a.select(isZero, 1.0, pivot);
    Shape part = {batch, left - 1, left - 1};
    Value factors =
        a.div(node.reshape(node.sliceDim(x, 2, 0, 1), {batch, left - 1}),
              a.broadcast(divisor, {batch, left - 1}, {0}));
    Value rest =
        node.reshape(node.sliceDim(pivotRow, 2, 1, left), {batch, left - 1});
    x = a.sub(node.sliceDim(x, 2, 1, left),
              a.mul(a.broadcast(factors, part, {0, 1}),
                    a.broadcast(rest, part, {0, 2})));
  }
  return node.result(
      node.cast(node.reshape(product, result), node.type(0).getElementType()));
}

} // namespace

void onnx_import::registerLinearAlgebra(Registry &registry) {
  registry.add("Det", importDet);
}
