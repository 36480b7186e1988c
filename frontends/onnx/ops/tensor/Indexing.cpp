// SPDX-License-Identifier: Apache-2.0

// Gathers and similar ops.

#include "frontends/onnx/ops/tensor/Indices.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

static LogicalResult checkIndex(Node &node, int64_t index, int64_t size) {
  if (index < -size || index >= size)
    return node.malformed("index " + Twine(index) + " in a dimension of " +
                          Twine(size));
  return success();
}

FailureOr<Value> onnx_import::fromEnd(Node &node, Value indices, int64_t size) {
  Type element = tensorType(indices).getElementType();
  if (!element.isSignlessInteger(32) && !element.isSignlessInteger(64))
    return node.malformed("indices are not integers");
  DenseElementsAttr constant;
  if (matchPattern(indices, m_Constant(&constant))) {
    bool negative = false;
    for (const APInt &value : constant.getValues<APInt>()) {
      int64_t index = value.getSExtValue();
      if (failed(checkIndex(node, index, size)))
        return failure();
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

FailureOr<Value> onnx_import::coveredCorner(Node &node, int64_t dim) {
  Value corner = node.in(0);
  for (int64_t i = 0; i < node.rank(0); ++i) {
    if (i == dim)
      continue;
    if (node.shape(1)[i] > node.shape(0)[i])
      return node.malformed("indices " + shapeText(node.shape(1)) +
                            " are larger than the data " +
                            shapeText(node.shape(0)));
    corner = node.sliceDim(corner, i, 0, node.shape(1)[i]);
  }
  return corner;
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
  FailureOr<Value> data = coveredCorner(node, *dim);
  if (failed(data))
    return failure();
  auto type =
      RankedTensorType::get(node.shape(1), node.type(0).getElementType());
  return node.result(
      TakeAlongOp::create(node.b, node.loc, type, *data, *indices, *dim));
}

FailureOr<Value> onnx_import::flatPositions(Node &node, Value indices,
                                            ArrayRef<int64_t> data,
                                            int64_t batch) {
  RankedTensorType type = tensorType(indices);
  int64_t lastDim = type.getRank() - 1;
  if (lastDim < batch)
    return node.malformed("indices of rank " + Twine(type.getRank()));
  int64_t depth = type.getShape().back();
  if (depth < 1 || batch < 0 ||
      batch + depth > static_cast<int64_t>(data.size()))
    return node.malformed("index tuples of " + Twine(depth) +
                          " for data of rank " + Twine(data.size()));
  DenseElementsAttr constant;
  if (matchPattern(indices, m_Constant(&constant)))
    for (auto [i, value] : llvm::enumerate(constant.getValues<APInt>()))
      if (failed(checkIndex(node, value.getSExtValue(),
                            data[batch + static_cast<int64_t>(i) % depth])))
        return failure();
  Shape outer(type.getShape().drop_back());
  Value position;
  auto advance = [&](int64_t size, Value coordinate) {
    position =
        position ? node.binary<AddOp>(
                       node.binary<MulOp>(position, static_cast<double>(size)),
                       coordinate)
                 : coordinate;
  };
  for (int64_t i = 0; i < batch; ++i) {
    if (type.getDimSize(i) != data[i])
      return node.malformed("batch dimensions " + shapeText(type.getShape()) +
                            " and " + shapeText(data));
    advance(data[i], node.iota(outer, type.getElementType(), i));
  }
  for (int64_t i = 0; i < depth; ++i) {
    Value part = node.sliceDim(indices, lastDim, i, i + 1);
    FailureOr<Value> index =
        fromEnd(node, node.reshape(part, outer), data[batch + i]);
    if (failed(index))
      return failure();
    // Positions cannot be clamped as indices are.
    advance(data[batch + i],
            node.binary<MinOp>(node.binary<MaxOp>(*index, 0.0),
                               static_cast<double>(data[batch + i] - 1)));
  }
  return position;
}

/// Leading dimensions are indexed at once: they are flattened into one, and the
/// index tuples into positions within it.
static LogicalResult importGatherND(Node &node) {
  int64_t batch = node.intAttr("batch_dims", 0);
  ArrayRef<int64_t> data = node.shape(0);
  FailureOr<Value> position = flatPositions(node, node.in(1), data, batch);
  if (failed(position))
    return failure();
  int64_t indexed = batch + node.shape(1).back();
  Shape flat = {1}, shape(node.shape(1).drop_back());
  for (int64_t size : data.take_front(indexed))
    flat[0] *= size;
  llvm::append_range(flat, data.drop_front(indexed));
  llvm::append_range(shape, data.drop_front(indexed));
  if (flat[0] == 0 && tensorType(*position).getNumElements() != 0)
    return node.malformed("indices of empty data");
  auto type = RankedTensorType::get(shape, node.type(0).getElementType());
  return node.result(GatherOp::create(
      node.b, node.loc, type, node.reshape(node.in(0), flat), *position, 0));
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

void onnx_import::registerIndexing(Registry &registry) {
  registry.add("Gather", importGather);
  registry.add("GatherElements", importGatherElements);
  registry.add("GatherND", importGatherND);
  registry.add("OneHot", importOneHot);
  registry.add("ArgMax", importArg<false>);
  registry.add("ArgMin", importArg<true>);
}
