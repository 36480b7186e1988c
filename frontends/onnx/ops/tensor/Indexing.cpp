// SPDX-License-Identifier: Apache-2.0

// Gathers and similar ops.

#include "frontends/onnx/import/Node.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// Negative indices count from the end of a dimension of this size. Constants
/// are adjusted at import, others at run time.
static FailureOr<Value> fromEnd(Node &node, Value indices, int64_t size) {
  Type element = tensorType(indices).getElementType();
  if (!element.isSignlessInteger(32) && !element.isSignlessInteger(64))
    return node.malformed("indices are not integers");
  DenseElementsAttr constant;
  if (matchPattern(indices, m_Constant(&constant))) {
    bool negative = false;
    for (const APInt &value : constant.getValues<APInt>()) {
      int64_t index = value.getSExtValue();
      if (index < -size || index >= size)
        return node.malformed("index " + Twine(index) + " in a dimension of " +
                              Twine(size));
      negative |= index < 0;
    }
    if (!negative)
      return indices;
  }
  return node.select(node.compare(Predicate::LT, indices, 0.0),
                     node.binary<AddOp>(indices, static_cast<double>(size)),
                     indices);
}

static LogicalResult importGather(Node &node) {
  FailureOr<int64_t> dim =
      node.normalizeAxis(node.intAttr("axis", 0), node.rank(0));
  if (failed(dim))
    return failure();
  FailureOr<Value> indices = fromEnd(node, node.in(1), node.shape(0)[*dim]);
  if (failed(indices))
    return failure();
  Shape shape(node.shape(0).take_front(*dim));
  llvm::append_range(shape, node.shape(1));
  llvm::append_range(shape, node.shape(0).drop_front(*dim + 1));
  auto type = RankedTensorType::get(shape, node.type(0).getElementType());
  return node.result(
      GatherOp::create(node.b, node.loc, type, node.in(0), *indices, *dim));
}

static LogicalResult importGatherElements(Node &node) {
  FailureOr<int64_t> dim =
      node.normalizeAxis(node.intAttr("axis", 0), node.rank(0));
  if (failed(dim))
    return failure();
  if (node.rank(1) != node.rank(0))
    return node.malformed("indices have rank " + Twine(node.rank(1)) +
                          ", data rank " + Twine(node.rank(0)));
  FailureOr<Value> indices = fromEnd(node, node.in(1), node.shape(0)[*dim]);
  if (failed(indices))
    return failure();
  // Only the corner of the data that the indices cover is read.
  Value data = node.in(0);
  for (int64_t i = 0; i < node.rank(0); ++i) {
    if (i == *dim)
      continue;
    if (node.shape(1)[i] > node.shape(0)[i])
      return node.malformed("indices " + shapeText(node.shape(1)) +
                            " are larger than the data " +
                            shapeText(node.shape(0)));
    data = node.sliceDim(data, i, 0, node.shape(1)[i]);
  }
  auto type =
      RankedTensorType::get(node.shape(1), node.type(0).getElementType());
  return node.result(
      TakeAlongOp::create(node.b, node.loc, type, data, *indices, *dim));
}

/// Leading dimensions are indexed at once: they are flattened into one, and the
/// index tuples into positions within it.
static LogicalResult importGatherND(Node &node) {
  int64_t batch = node.intAttr("batch_dims", 0);
  if (batch != 0)
    return node.unsupported("batch_dims " + Twine(batch));
  if (node.rank(1) < 1)
    return node.malformed("indices are a scalar");
  int64_t depth = node.shape(1).back();
  if (depth < 1 || depth > node.rank(0))
    return node.malformed("index tuples of " + Twine(depth) +
                          " for data of rank " + Twine(node.rank(0)));
  ArrayRef<int64_t> data = node.shape(0);
  int64_t lastDim = node.rank(1) - 1;
  Value position;
  int64_t rows = 1;
  for (int64_t i = 0; i < depth; ++i) {
    Value part = node.sliceDim(node.in(1), lastDim, i, i + 1);
    FailureOr<Value> index =
        fromEnd(node, node.reshape(part, node.shape(1).drop_back()), data[i]);
    if (failed(index))
      return failure();
    position =
        position
            ? node.binary<AddOp>(
                  node.binary<MulOp>(position, static_cast<double>(data[i])),
                  *index)
            : *index;
    rows *= data[i];
  }
  Shape flat = {rows}, shape(node.shape(1).drop_back());
  llvm::append_range(flat, data.drop_front(depth));
  llvm::append_range(shape, data.drop_front(depth));
  auto type = RankedTensorType::get(shape, node.type(0).getElementType());
  return node.result(GatherOp::create(
      node.b, node.loc, type, node.reshape(node.in(0), flat), position, 0));
}

static LogicalResult importOneHot(Node &node) {
  FailureOr<double> given = node.constantScalar(1, "the depth");
  if (failed(given))
    return failure();
  auto depth = static_cast<int64_t>(*given);
  if (depth < 1)
    return node.malformed("depth " + Twine(depth));
  FailureOr<int64_t> dim =
      node.normalizeAxis(node.intAttr("axis", -1), node.rank(0) + 1);
  if (failed(dim))
    return failure();
  if (node.type(2).getNumElements() != 2)
    return node.malformed("values are not two");
  Shape shape(node.shape(0));
  shape.insert(shape.begin() + *dim, depth);
  Value indices = node.cast(node.in(0), node.b.getI64Type());
  indices = node.select(node.compare(Predicate::LT, indices, 0.0),
                        node.binary<AddOp>(indices, static_cast<double>(depth)),
                        indices);
  Value hot =
      node.compare(Predicate::EQ, node.iota(shape, node.b.getI64Type(), *dim),
                   broadcastOver(node.b, node.loc, indices, shape, {*dim}));
  auto value = [&](int64_t i) {
    return node.broadcast(
        node.reshape(node.sliceDim(node.in(2), 0, i, i + 1), {}), shape);
  };
  return node.result(node.select(hot, value(1), value(0)));
}

/// Returns the index of the largest element (or of the smallest, with a negated
/// operand); the last of equal ones is the first in reverse order.
template <bool smallest> static LogicalResult importArg(Node &node) {
  FailureOr<int64_t> dim =
      node.normalizeAxis(node.intAttr("axis", 0), node.rank(0));
  if (failed(dim))
    return failure();
  int64_t size = node.shape(0)[*dim];
  if (size == 0)
    return node.malformed("the dimension is empty");
  Value x = node.in(0);
  if (smallest) {
    if (tensorType(x).getElementType().isUnsignedInteger())
      x = node.cast(x, node.b.getI32Type());
    x = node.unary<NegOp>(x);
  }
  bool last = node.intAttr("select_last_index", 0);
  if (last)
    x = node.reverse(x, {*dim});
  RankedTensorType type = dropDims(tensorType(x), {*dim});
  Value index = ArgMaxOp::create(
      node.b, node.loc, withElement(type, node.b.getI64Type()), x, *dim);
  if (last)
    index = node.binary<SubOp>(
        node.splatOf(index, static_cast<double>(size - 1)), index);
  if (node.intAttr("keepdims", 1)) {
    Shape kept(node.shape(0));
    kept[*dim] = 1;
    index = node.reshape(index, kept);
  }
  return node.result(index);
}

/// Imports CumSum as a sum over a triangle: element i of the result is the sum
/// of those that precede it.
static LogicalResult importCumSum(Node &node) {
  FailureOr<double> given = node.constantScalar(1, "the axis");
  if (failed(given))
    return failure();
  FailureOr<int64_t> dim =
      node.normalizeAxis(static_cast<int64_t>(*given), node.rank(0));
  if (failed(dim))
    return failure();
  int64_t size = node.shape(0)[*dim];
  Shape wide(node.shape(0));
  wide.insert(wide.begin() + *dim, size);
  Type i64 = node.b.getI64Type();
  Shape square = {size, size};
  Value to = node.iota(square, i64, 0), from = node.iota(square, i64, 1);
  bool exclusive = node.intAttr("exclusive", 0);
  if (node.intAttr("reverse", 0))
    std::swap(to, from);
  Value counts =
      node.compare(exclusive ? Predicate::LT : Predicate::LE, from, to);
  Value mask = broadcastTo(node.b, node.loc, counts, wide, {*dim, *dim + 1});
  Value repeated = broadcastOver(node.b, node.loc, node.in(0), wide, {*dim});
  Value kept = node.select(mask, repeated, node.splatOf(repeated, 0.0));
  return node.result(
      node.reduce(ReductionKind::Sum, kept, {*dim + 1}, /*keep=*/false));
}

void onnx_import::registerIndexing(Registry &registry) {
  registry.add("Gather", importGather);
  registry.add("GatherElements", importGatherElements);
  registry.add("GatherND", importGatherND);
  registry.add("OneHot", importOneHot);
  registry.add("ArgMax", importArg<false>);
  registry.add("ArgMin", importArg<true>);
  registry.add("CumSum", importCumSum);
}
