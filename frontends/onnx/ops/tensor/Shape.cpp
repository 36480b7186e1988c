// SPDX-License-Identifier: Apache-2.0

// Ops that change or repeat shapes.

#include "frontends/onnx/model/Node.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

/// Returns the new shape, which is a constant. 0 copies the input's size
/// (unless `allowzero`), -1 is the remaining size.
static LogicalResult importReshape(Node &node) {
  FailureOr<Shape> wanted = node.constantInts(1, "the shape");
  if (failed(wanted))
    return failure();
  ArrayRef<int64_t> from = node.shape(0);
  Shape shape(*wanted);
  int64_t free = -1;
  for (auto [i, size] : llvm::enumerate(shape)) {
    if (size == 0 && !node.intAttr("allowzero", 0)) {
      if (i >= from.size())
        return node.malformed("shape " + shapeText(*wanted) +
                              " copies a dimension that the input lacks");
      size = from[i];
    } else if (size == -1) {
      if (free >= 0)
        return node.malformed("shape " + shapeText(*wanted) +
                              " has two open dimensions");
      free = static_cast<int64_t>(i);
    } else if (size < 0) {
      return node.malformed("negative size in shape " + shapeText(*wanted));
    }
  }
  int64_t elements = product(from);
  if (free >= 0) {
    shape[free] = 1;
    int64_t known = product(shape);
    shape[free] = known && elements % known == 0 ? elements / known : -1;
  }
  if (llvm::is_contained(shape, -1) || product(shape) != elements)
    return node.fail(
        "Reshape: " + shapeText(from) + " does not fit the shape " +
            shapeText(*wanted) + " in the model",
        "a size baked into the model contradicts --batch or --dim; bind the "
        "size the model was exported with, or export it with that dimension "
        "dynamic");
  return node.result(node.reshape(node.in(0), shape));
}

static LogicalResult importFlatten(Node &node) {
  int64_t rank = node.rank(0), axis = node.intAttr("axis", 1);
  if (axis < -rank || axis > rank)
    return node.malformed("axis " + Twine(axis) + " of a tensor of rank " +
                          Twine(rank));
  if (axis < 0)
    axis += rank;
  ArrayRef<int64_t> shape = node.shape(0);
  return node.result(
      node.reshape(node.in(0), {product(shape.take_front(axis)),
                                product(shape.drop_front(axis))}));
}

static LogicalResult importTranspose(Node &node) {
  Shape permutation;
  if (std::optional<Shape> given = node.intsAttr("perm"))
    permutation = *given;
  else
    for (int64_t i = node.rank(0); i-- > 0;)
      permutation.push_back(i);
  Shape sorted(permutation);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, node.rank(0))))
    return node.malformed("perm " + shapeText(permutation) +
                          " is not a permutation of the dimensions");
  return node.result(node.transpose(node.in(0), permutation));
}

/// Returns the axes of Squeeze and Unsqueeze: an attribute before opset 13, an
/// input since.
static FailureOr<std::optional<Shape>> axesOf(Node &node) {
  if (node.opset < 13)
    return node.intsAttr("axes");
  if (!node.has(1))
    return std::optional<Shape>();
  FailureOr<Shape> axes = node.constantInts(1, "the axes");
  if (failed(axes))
    return failure();
  return std::optional<Shape>(*axes);
}

static LogicalResult importSqueeze(Node &node) {
  FailureOr<std::optional<Shape>> axes = axesOf(node);
  if (failed(axes))
    return failure();
  ArrayRef<int64_t> from = node.shape(0);
  Shape dims;
  if (*axes) {
    FailureOr<Shape> given = node.normalizeAxes(**axes, node.rank(0));
    if (failed(given))
      return failure();
    dims = *given;
    for (int64_t dim : dims)
      if (from[dim] != 1)
        return node.malformed("dimension " + Twine(dim) + " of " +
                              shapeText(from) + " is not 1");
  } else {
    for (auto [i, size] : llvm::enumerate(from))
      if (size == 1)
        dims.push_back(static_cast<int64_t>(i));
  }
  Shape shape;
  for (auto [i, size] : llvm::enumerate(from))
    if (!llvm::is_contained(dims, static_cast<int64_t>(i)))
      shape.push_back(size);
  return node.result(node.reshape(node.in(0), shape));
}

static LogicalResult importUnsqueeze(Node &node) {
  FailureOr<std::optional<Shape>> axes = axesOf(node);
  if (failed(axes))
    return failure();
  if (!*axes)
    return node.malformed("no axes");
  FailureOr<Shape> dims = node.normalizeAxes(
      **axes, node.rank(0) + static_cast<int64_t>((*axes)->size()));
  if (failed(dims))
    return failure();
  Shape shape(node.shape(0));
  for (int64_t dim : *dims)
    shape.insert(shape.begin() + dim, 1);
  return node.result(node.reshape(node.in(0), shape));
}

/// Concatenates values along `axis`, which may count from the end.
static LogicalResult concatenate(Node &node, ArrayRef<Value> values,
                                 int64_t axis) {
  if (values.empty())
    return node.malformed("no inputs");
  RankedTensorType first = tensorType(values.front());
  FailureOr<int64_t> dim = node.normalizeAxis(axis, first.getRank());
  if (failed(dim))
    return failure();
  for (Value value : values) {
    RankedTensorType type = tensorType(value);
    bool fits = type.getElementType() == first.getElementType() &&
                type.getRank() == first.getRank();
    for (int64_t i = 0; fits && i < first.getRank(); ++i)
      fits = i == *dim || type.getDimSize(i) == first.getDimSize(i);
    if (!fits)
      return node.malformed(
          "cannot concatenate " + shapeText(first.getShape()) + " and " +
          shapeText(type.getShape()) + " along dimension " + Twine(*dim));
  }
  return node.result(node.concat(values, *dim));
}

static LogicalResult importConcat(Node &node) {
  FailureOr<SmallVector<Value>> values = node.allInputs();
  if (failed(values))
    return failure();
  return concatenate(node, *values, node.intAttr("axis", 1));
}

static LogicalResult importExpand(Node &node) {
  FailureOr<Shape> wanted = node.constantInts(1, "the shape");
  if (failed(wanted))
    return failure();
  ArrayRef<int64_t> from = node.shape(0);
  Shape shape(*wanted);
  if (shape.size() < from.size())
    shape.insert(shape.begin(), from.size() - shape.size(), 1);
  size_t offset = shape.size() - from.size();
  for (auto [i, size] : llvm::enumerate(from)) {
    int64_t &target = shape[offset + i];
    if (target == 1)
      target = size;
    else if (size != 1 && size != target)
      return node.malformed(shapeText(from) + " does not broadcast to " +
                            shapeText(*wanted));
  }
  if (llvm::any_of(shape, [](int64_t size) { return size < 0; }))
    return node.malformed("negative size in shape " + shapeText(*wanted));
  return node.result(node.broadcast(node.in(0), shape));
}

static LogicalResult importTile(Node &node) {
  FailureOr<Shape> repeats = node.constantInts(1, "repeats");
  if (failed(repeats))
    return failure();
  ArrayRef<int64_t> from = node.shape(0);
  if (repeats->size() != from.size() ||
      llvm::any_of(*repeats, [](int64_t n) { return n < 0; }))
    return node.malformed("repeats " + shapeText(*repeats) +
                          " do not fit the shape " + shapeText(from));
  // [a, b] becomes [1, a, 1, b], then [m, a, n, b], then [m * a, n * b].
  Shape wide, dims, shape;
  for (auto [i, size] : llvm::enumerate(from)) {
    wide.append({(*repeats)[i], size});
    dims.push_back(static_cast<int64_t>(2 * i + 1));
    shape.push_back((*repeats)[i] * size);
  }
  if (llvm::equal(shape, from))
    return node.result(node.in(0));
  return node.result(node.reshape(
      broadcastTo(node.b, node.loc, node.in(0), wide, dims), shape));
}

static LogicalResult importDepthToSpace(Node &node) {
  int64_t block = node.intAttr("blocksize", 0);
  ArrayRef<int64_t> s = node.shape(0);
  if (s.size() != 4 || block < 1 || s[1] % (block * block))
    return node.malformed("block size " + Twine(block) + " for shape " +
                          shapeText(s));
  int64_t channels = s[1] / (block * block);
  Value x = node.in(0);
  if (node.stringAttr("mode", "DCR") == "CRD")
    x = node.transpose(
        node.reshape(x, {s[0], channels, block, block, s[2], s[3]}),
        {0, 1, 4, 2, 5, 3});
  else
    x = node.transpose(
        node.reshape(x, {s[0], block, block, channels, s[2], s[3]}),
        {0, 3, 4, 1, 5, 2});
  return node.result(
      node.reshape(x, {s[0], channels, s[2] * block, s[3] * block}));
}

static LogicalResult importSpaceToDepth(Node &node) {
  int64_t block = node.intAttr("blocksize", 0);
  ArrayRef<int64_t> s = node.shape(0);
  if (s.size() != 4 || block < 1 || s[2] % block || s[3] % block)
    return node.malformed("block size " + Twine(block) + " for shape " +
                          shapeText(s));
  Value split = node.reshape(
      node.in(0), {s[0], s[1], s[2] / block, block, s[3] / block, block});
  bool depthFirst = node.stringAttr("mode", "DCR") == "DCR";
  Shape order = depthFirst ? Shape{0, 3, 5, 1, 2, 4} : Shape{0, 1, 3, 5, 2, 4};
  return node.result(
      node.reshape(node.transpose(split, order),
                   {s[0], s[1] * block * block, s[2] / block, s[3] / block}));
}

void onnx_import::registerShape(Registry &registry) {
  registry.add("Reshape", importReshape);
  registry.add("Flatten", importFlatten);
  registry.add("Transpose", importTranspose);
  registry.add("Squeeze", importSqueeze);
  registry.add("Unsqueeze", importUnsqueeze);
  registry.add("Concat", importConcat);
  registry.add("Expand", importExpand);
  registry.add("Tile", importTile);
  registry.add("DepthToSpace", importDepthToSpace);
  registry.add("SpaceToDepth", importSpaceToDepth);
}
