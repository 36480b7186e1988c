// SPDX-License-Identifier: Apache-2.0

// Slices of tensors and padding around them.

#include "frontends/onnx/model/Node.h"
#include <algorithm>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// Slices the elements start, start + step, ... before `end` (exclusive) along
/// `dim`, with NumPy's rules for negative numbers and numbers beyond the end.
static Value sliceAlong(Node &node, Value value, int64_t dim, int64_t start,
                        int64_t end, int64_t step) {
  int64_t size = tensorType(value).getDimSize(dim);
  auto fromEnd = [&](int64_t i) { return i < 0 ? i + size : i; };
  if (step > 0) {
    start = std::clamp<int64_t>(fromEnd(start), 0, size);
    end = std::clamp<int64_t>(fromEnd(end), start, size);
    return node.sliceDim(value, dim, start, end, step);
  }
  // A negative step reads the same elements of the reversed dimension.
  start = std::clamp<int64_t>(fromEnd(start), -1, size - 1);
  end = std::clamp<int64_t>(fromEnd(end), -1, start);
  return node.sliceDim(node.reverse(value, {dim}), dim, size - 1 - start,
                       size - 1 - end, -step);
}

/// Starts, ends, axes and steps are attributes before opset 10 and inputs
/// since.
static LogicalResult importSlice(Node &node) {
  Shape starts, ends, axes, steps;
  if (node.opset < 10 && node.opType() != "DynamicSlice") {
    starts = node.intsAttr("starts").value_or(Shape());
    ends = node.intsAttr("ends").value_or(Shape());
    axes = node.intsAttr("axes").value_or(Shape());
  } else {
    auto read = [&](size_t i, StringRef what, Shape &into) -> LogicalResult {
      if (!node.has(i))
        return success();
      FailureOr<Shape> values = node.constantInts(i, what);
      if (succeeded(values))
        into = *values;
      return values;
    };
    if (failed(read(1, "starts", starts)) || failed(read(2, "ends", ends)) ||
        failed(read(3, "axes", axes)) || failed(read(4, "steps", steps)))
      return failure();
  }
  if (axes.empty())
    axes.assign(llvm::seq<int64_t>(0, starts.size()).begin(),
                llvm::seq<int64_t>(0, starts.size()).end());
  if (steps.empty())
    steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size())
    return node.malformed("starts, ends, axes and steps differ in length");
  Value value = node.in(0);
  // Checks that no dimension is named twice.
  if (failed(node.normalizeAxes(axes, node.rank(0))))
    return failure();
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t dim = *node.normalizeAxis(axes[i], node.rank(0));
    if (steps[i] == 0 || steps[i] == std::numeric_limits<int64_t>::min())
      return node.malformed("step " + Twine(steps[i]));
    value = sliceAlong(node, value, dim, starts[i], ends[i], steps[i]);
  }
  return node.result(value);
}

/// Sizes are an attribute before opset 13 and an input since; without them the
/// parts are equal, except for a smaller last one since opset 18.
static LogicalResult importSplit(Node &node) {
  FailureOr<int64_t> dim =
      node.normalizeAxis(node.intAttr("axis", 0), node.rank(0));
  if (failed(dim))
    return failure();
  int64_t size = node.shape(0)[*dim];
  int64_t count = static_cast<int64_t>(node.getResults().size());
  Shape sizes;
  if (node.opset < 13) {
    sizes = node.intsAttr("split").value_or(Shape());
  } else if (node.has(1)) {
    FailureOr<Shape> given = node.constantInts(1, "the sizes");
    if (failed(given))
      return failure();
    sizes = *given;
  }
  if (sizes.empty()) {
    int64_t parts = node.intAttr("num_outputs", count);
    if (parts < 1)
      return node.malformed("num_outputs is " + Twine(parts));
    int64_t each = (size + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i)
      sizes.push_back(std::clamp<int64_t>(size - i * each, 0, each));
    if (node.opset < 18 && size % parts)
      return node.malformed(Twine(size) + " elements in " + Twine(parts) +
                            " equal parts");
  }
  int64_t sum = 0;
  for (int64_t part : sizes) {
    if (part < 0)
      return node.malformed("negative size in " + shapeText(sizes));
    sum += part;
  }
  if (sum != size || static_cast<int64_t>(sizes.size()) < count)
    return node.malformed("sizes " + shapeText(sizes) + " of a dimension of " +
                          Twine(size));
  int64_t start = 0;
  for (int64_t i = 0; i < count; ++i) {
    node.set(i, node.sliceDim(node.in(0), *dim, start, start + sizes[i]));
    start += sizes[i];
  }
  return success();
}

/// Returns `count` elements before or after along `dim`, copied from the
/// operand: mirrored (reflect), the edge, or the other side (wrap).
static FailureOr<Value> margin(Node &node, Value value, int64_t dim,
                               int64_t count, bool before, StringRef mode) {
  int64_t size = tensorType(value).getDimSize(dim);
  if (mode == "edge") {
    if (size == 0)
      return node.malformed("no edge to repeat");
    int64_t at = before ? 0 : size - 1;
    Value edge = node.sliceDim(value, dim, at, at + 1);
    Shape shape(tensorType(value).getShape());
    shape[dim] = count;
    return node.broadcast(edge, shape);
  }
  bool reflect = mode == "reflect";
  if (count > size - (reflect ? 1 : 0))
    return node.unsupported("a margin of " + Twine(count) +
                            " around a dimension of " + Twine(size));
  int64_t from =
      reflect ? (before ? 1 : size - 1 - count) : (before ? size - count : 0);
  Value part = node.sliceDim(value, dim, from, from + count);
  return reflect ? node.reverse(part, {dim}) : part;
}

/// Pads and value are attributes before opset 11 and inputs since.
static LogicalResult importPad(Node &node) {
  int64_t rank = node.rank(0);
  Shape pads, axes;
  double with = 0.0;
  if (node.opset < 11) {
    pads = node.intsAttr("pads").value_or(Shape());
    with = node.floatAttr("value", 0.0);
  } else {
    FailureOr<Shape> given = node.constantInts(1, "the padding");
    if (failed(given))
      return failure();
    pads = *given;
    if (node.has(2)) {
      FailureOr<double> value = node.constantScalar(2, "the padding's value");
      if (failed(value))
        return failure();
      with = *value;
    }
    if (node.has(3)) {
      FailureOr<Shape> named = node.constantInts(3, "the axes");
      if (failed(named) || failed(node.normalizeAxes(*named, rank)))
        return failure();
      for (int64_t axis : *named)
        axes.push_back(axis < 0 ? axis + rank : axis);
    }
  }
  if (!node.has(3))
    axes.assign(llvm::seq<int64_t>(0, rank).begin(),
                llvm::seq<int64_t>(0, rank).end());
  if (pads.size() != 2 * axes.size())
    return node.malformed(Twine(pads.size()) + " pads for " +
                          Twine(axes.size()) + " dimensions");

  Shape low(rank, 0), high(rank, 0), starts(rank, 0), limits(node.shape(0));
  for (auto [i, axis] : llvm::enumerate(axes)) {
    low[axis] = pads[i];
    high[axis] = pads[axes.size() + i];
  }
  // Negative padding removes elements.
  for (int64_t i = 0; i < rank; ++i) {
    if (low[i] < 0)
      starts[i] = -low[i];
    if (high[i] < 0)
      limits[i] += high[i];
    if (starts[i] > limits[i])
      return node.malformed("padding " + shapeText(pads) + " of shape " +
                            shapeText(node.shape(0)));
    low[i] = std::max<int64_t>(low[i], 0);
    high[i] = std::max<int64_t>(high[i], 0);
  }
  Value value = node.slice(node.in(0), starts, limits, Shape(rank, 1));
  std::string mode = node.stringAttr("mode", "constant");
  if (mode == "constant")
    return node.result(node.pad(value, low, high, with));
  if (mode != "reflect" && mode != "edge" && mode != "wrap")
    return node.malformed("mode is '" + mode + "'");
  for (int64_t dim = 0; dim < rank; ++dim) {
    SmallVector<Value> parts;
    for (bool before : {true, false}) {
      if (!before)
        parts.push_back(value);
      int64_t count = before ? low[dim] : high[dim];
      if (count == 0)
        continue;
      FailureOr<Value> part = margin(node, value, dim, count, before, mode);
      if (failed(part))
        return failure();
      parts.push_back(*part);
    }
    value = node.concat(parts, dim);
  }
  return node.result(value);
}

/// Returns the elements on and below the k-th diagonal, or on and above it.
static LogicalResult importTrilu(Node &node) {
  if (node.rank(0) < 2)
    return node.malformed("the input is not a matrix");
  double k = 0.0;
  if (node.has(1)) {
    FailureOr<double> given = node.constantScalar(1, "the diagonal");
    if (failed(given))
      return failure();
    k = *given;
  }
  Type i64 = node.b.getI64Type();
  Shape matrix(node.shape(0).take_back(2));
  Value offset =
      node.binary<SubOp>(node.iota(matrix, i64, 1), node.iota(matrix, i64, 0));
  Value keep = node.compare(
      node.intAttr("upper", 1) ? Predicate::GE : Predicate::LE, offset, k);
  return node.result(node.select(node.broadcast(keep, node.shape(0)),
                                 node.in(0), node.splatOf(node.in(0), 0.0)));
}

void onnx_import::registerSlicing(Registry &registry) {
  registry.add("Slice", importSlice);
  // ONNX Runtime has this name of the form with inputs for older opsets.
  registry.add("DynamicSlice", importSlice);
  registry.add("Split", importSplit);
  registry.add("Pad", importPad);
  registry.add("Trilu", importTrilu);
}
