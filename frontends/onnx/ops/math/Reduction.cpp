// SPDX-License-Identifier: Apache-2.0

// Reductions over some or all dimensions.

#include "frontends/onnx/model/Node.h"
#include <limits>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

/// Returns the dimensions to reduce. Axes are an attribute until the version
/// that made them an input: 13 for ReduceSum, 18 for the others.
FailureOr<Shape> reducedDims(Node &node) {
  Shape axes;
  if (node.has(1)) {
    FailureOr<Shape> given = node.constantInts(1, "the axes");
    if (failed(given))
      return failure();
    axes = *given;
  } else {
    axes = node.intsAttr("axes").value_or(Shape());
  }
  int64_t rank = node.rank(0);
  if (axes.empty()) {
    if (node.intAttr("noop_with_empty_axes", 0))
      return Shape();
    return Shape(llvm::seq<int64_t>(0, rank).begin(),
                 llvm::seq<int64_t>(0, rank).end());
  }
  return node.normalizeAxes(axes, rank);
}

bool keepsDims(Node &node) { return node.intAttr("keepdims", 1); }

Value square(Node &node, Value x) { return node.binary<MulOp>(x, x); }
Value magnitude(Node &node, Value x) { return node.unary<AbsOp>(x); }
Value unchanged(Node &, Value x) { return x; }
Value squareRoot(Node &node, Value x) { return node.root(x, 2); }
Value logarithm(Node &node, Value x) { return node.unary<LogOp>(x); }

/// Builds after(reduce(before(x))).
template <ReductionKind kind, Value (*before)(Node &, Value) = unchanged,
          Value (*after)(Node &, Value) = unchanged>
LogicalResult importReduce(Node &node) {
  if constexpr (after != unchanged)
    if (failed(node.requireFloat(0)))
      return failure();
  FailureOr<Shape> dims = reducedDims(node);
  if (failed(dims))
    return failure();
  // Booleans are ordered, but have no arithmetic.
  Type element = node.type(0).getElementType();
  Value x =
      element.isInteger(1)
          ? node.cast(node.in(0), node.b.getIntegerType(8, /*isSigned=*/false))
          : node.in(0);
  Value reduced = node.reduce(kind, before(node, x), *dims, keepsDims(node));
  return node.result(node.cast(after(node, reduced), element));
}

LogicalResult importReduceMean(Node &node) {
  FailureOr<Shape> dims = reducedDims(node);
  if (failed(dims))
    return failure();
  int64_t count = 1;
  for (int64_t dim : *dims)
    count *= node.shape(0)[dim];
  Value sum =
      node.reduce(ReductionKind::Sum, node.in(0), *dims, keepsDims(node));
  if (count == 1)
    return node.result(sum);
  return node.result(node.binary<DivOp>(sum, static_cast<double>(count)));
}

/// Computes max + log(sum(exp(x - max))), which does not overflow.
LogicalResult importReduceLogSumExp(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  FailureOr<Shape> dims = reducedDims(node);
  if (failed(dims))
    return failure();
  Value x = node.in(0);
  Value highest = node.reduce(ReductionKind::Max, x, *dims, /*keep=*/true);
  // Infinity minus infinity is no number.
  Value isInfinite = node.compare(Predicate::EQ, node.unary<AbsOp>(highest),
                                  std::numeric_limits<double>::infinity());
  highest = node.select(isInfinite, node.splatOf(highest, 0.0), highest);
  Value shifted = node.unary<ExpOp>(
      node.binary<SubOp>(x, node.broadcast(highest, node.shape(0))));
  Value sum = node.reduce(ReductionKind::Sum, shifted, *dims, keepsDims(node));
  highest = node.reshape(highest, tensorType(sum).getShape());
  return node.result(node.binary<AddOp>(highest, node.unary<LogOp>(sum)));
}

} // namespace

void onnx_import::registerReduction(Registry &registry) {
  registry.add("ReduceSum", importReduce<ReductionKind::Sum>);
  registry.add("ReduceProd", importReduce<ReductionKind::Prod>);
  registry.add("ReduceMax", importReduce<ReductionKind::Max>);
  registry.add("ReduceMin", importReduce<ReductionKind::Min>);
  registry.add("ReduceMean", importReduceMean);
  registry.add("ReduceL1", importReduce<ReductionKind::Sum, magnitude>);
  registry.add("ReduceL2",
               importReduce<ReductionKind::Sum, square, squareRoot>);
  registry.add("ReduceSumSquare", importReduce<ReductionKind::Sum, square>);
  registry.add("ReduceLogSum",
               importReduce<ReductionKind::Sum, unchanged, logarithm>);
  registry.add("ReduceLogSumExp", importReduceLogSumExp);
}
