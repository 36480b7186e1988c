// SPDX-License-Identifier: Apache-2.0

// Operators that write elements or slices at indices.

#include "frontends/onnx/ops/tensor/Indices.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

FailureOr<ScatterKind> readReduction(Node &node) {
  std::string name = node.stringAttr("reduction", "none");
  auto kind = llvm::StringSwitch<std::optional<ScatterKind>>(name)
                  .Case("none", ScatterKind::Set)
                  .Case("add", ScatterKind::Add)
                  .Case("mul", ScatterKind::Mul)
                  .Case("max", ScatterKind::Max)
                  .Case("min", ScatterKind::Min)
                  .Default(std::nullopt);
  if (!kind)
    return node.malformed("reduction is '" + name + "'");
  return *kind;
}

Value scatter(Node &node, ScatterKind kind, Value init, Value indices,
              Value updates, int64_t dim) {
  return ScatterOp::create(node.b, node.loc, init.getType(), kind, init,
                           indices, updates, dim);
}

/// Returns `init` with the corner at its origin replaced.
Value replaceCorner(Node &node, Value init, Value corner) {
  ArrayRef<int64_t> whole = tensorType(init).getShape();
  ArrayRef<int64_t> part = tensorType(corner).getShape();
  if (whole == part)
    return corner;
  Value inside;
  Shape low(whole.size(), 0), high;
  for (auto [dim, sizes] : llvm::enumerate(llvm::zip_equal(whole, part))) {
    auto [size, covered] = sizes;
    high.push_back(size - covered);
    if (size == covered)
      continue;
    Value below = node.compare(
        Predicate::LT,
        node.iota(whole, node.b.getI64Type(), static_cast<int64_t>(dim)),
        static_cast<double>(covered));
    inside = inside ? node.binary<AndOp>(inside, below) : below;
  }
  return node.select(inside, node.pad(corner, low, high, 0.0), init);
}

LogicalResult importScatterElements(Node &node) {
  FailureOr<ScatterKind> kind = readReduction(node);
  FailureOr<int64_t> dim =
      node.normalizeAxis(node.intAttr("axis", 0), node.rank(0));
  if (failed(kind) || failed(dim))
    return failure();
  if (node.shape(1) != node.shape(2) || node.rank(1) != node.rank(0))
    return node.malformed("indices " + shapeText(node.shape(1)) +
                          " and updates " + shapeText(node.shape(2)) +
                          " for data " + shapeText(node.shape(0)));
  FailureOr<Value> indices = fromEnd(node, node.in(1), node.shape(0)[*dim]);
  if (failed(indices))
    return failure();
  FailureOr<Value> corner = coveredCorner(node, *dim);
  if (failed(corner))
    return failure();
  Value written = scatter(node, *kind, *corner, *indices, node.in(2), *dim);
  return node.result(replaceCorner(node, node.in(0), written));
}

/// Leading dimensions are indexed at once, as by GatherND.
LogicalResult importScatterND(Node &node) {
  FailureOr<ScatterKind> kind = readReduction(node);
  ArrayRef<int64_t> data = node.shape(0);
  FailureOr<Value> positions =
      flatPositions(node, node.in(1), data, /*batch=*/0);
  if (failed(kind) || failed(positions))
    return failure();
  int64_t depth = node.shape(1).back();
  Shape want(node.shape(1).drop_back());
  llvm::append_range(want, data.drop_front(depth));
  if (node.shape(2) != ArrayRef(want))
    return node.malformed("updates have shape " + shapeText(node.shape(2)) +
                          " instead of " + shapeText(want));
  int64_t rows = 1, columns = 1;
  for (auto [i, size] : llvm::enumerate(data))
    (static_cast<int64_t>(i) < depth ? rows : columns) *= size;
  int64_t count = tensorType(*positions).getNumElements();
  Value written =
      scatter(node, *kind, node.reshape(node.in(0), {rows, columns}),
              node.reshape(*positions, {count}),
              node.reshape(node.in(2), {count, columns}), 0);
  return node.result(node.reshape(written, data));
}

/// Writes tokens into a cache along `axis`, from an index of each batch entry.
LogicalResult importTensorScatter(Node &node) {
  ArrayRef<int64_t> data = node.shape(0);
  FailureOr<int64_t> dim =
      node.normalizeAxis(node.intAttr("axis", -2), node.rank(0));
  if (failed(dim))
    return failure();
  std::string mode = node.stringAttr("mode", "linear");
  if (*dim == 0 || (mode != "linear" && mode != "circular"))
    return node.malformed("mode '" + mode + "' along dimension " + Twine(*dim));
  Shape want(data);
  want[*dim] = node.rank(1) == node.rank(0) ? node.shape(1)[*dim] : 0;
  if (node.shape(1) != ArrayRef(want) || want[*dim] > data[*dim])
    return node.malformed("an update of shape " + shapeText(node.shape(1)) +
                          " for a cache of shape " + shapeText(data));
  Type i64 = node.b.getI64Type();
  Value indices = node.iota(want, i64, *dim);
  if (node.has(2)) {
    if (node.shape(2) != ArrayRef<int64_t>({data[0]}))
      return node.malformed("write_indices have shape " +
                            shapeText(node.shape(2)));
    indices = node.binary<AddOp>(
        indices, node.alongDim(node.cast(node.in(2), i64), want, 0));
  }
  if (mode == "circular")
    indices = node.binary<RemOp>(indices, static_cast<double>(data[*dim]));
  return node.result(
      scatter(node, ScatterKind::Set, node.in(0), indices, node.in(1), *dim));
}

/// Writes each element of X at its position in a tensor of zeros.
LogicalResult importMaxUnpool(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  ArrayRef<int64_t> in = node.shape(0);
  int64_t spatial = node.rank(0) - 2;
  std::optional<Shape> kernel = node.intsAttr("kernel_shape");
  if (spatial < 1 || !kernel || static_cast<int64_t>(kernel->size()) != spatial)
    return node.malformed("kernel_shape for an input of shape " +
                          shapeText(in));
  Shape strides = node.intsAttr("strides").value_or(Shape(spatial, 1));
  Shape pads = node.intsAttr("pads").value_or(Shape(2 * spatial, 0));
  if (static_cast<int64_t>(strides.size()) != spatial ||
      static_cast<int64_t>(pads.size()) != 2 * spatial || node.shape(1) != in)
    return node.malformed("strides, pads or indices");
  // Indices are positions in the tensor of the size that the pooling had.
  Shape own(in.take_front(2));
  for (int64_t i = 0; i < spatial; ++i)
    own.push_back((in[i + 2] - 1) * strides[i] - pads[i] - pads[i + spatial] +
                  (*kernel)[i]);
  Shape shape = own;
  if (node.has(2)) {
    FailureOr<Shape> given = node.constantInts(2, "the output shape");
    if (failed(given))
      return failure();
    shape = *given;
  }
  int64_t total = 1;
  for (int64_t size : own) {
    if (size < 1)
      return node.malformed("an output of shape " + shapeText(own));
    total *= size;
  }
  bool fits = shape.size() == own.size();
  for (size_t i = 0; fits && i < own.size(); ++i)
    fits = shape[i] >= own[i];
  if (!fits)
    return node.malformed("an output of shape " + shapeText(shape) +
                          " for one of shape " + shapeText(own));
  int64_t count = node.type(0).getNumElements();
  Value zeros =
      splat(node.b, node.loc,
            RankedTensorType::get({total}, node.type(0).getElementType()), 0.0);
  Value written =
      scatter(node, ScatterKind::Set, zeros, node.reshape(node.in(1), {count}),
              node.reshape(node.in(0), {count}), 0);
  Shape low(own.size(), 0), high;
  for (auto [large, small] : llvm::zip_equal(shape, own))
    high.push_back(large - small);
  return node.result(node.pad(node.reshape(written, own), low, high, 0.0));
}

/// Adds the columns of sliding blocks back: each element of the kernel is a
/// strided part of the padded image.
LogicalResult importCol2Im(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  FailureOr<Shape> image = node.constantInts(1, "the image's shape");
  FailureOr<Shape> block = node.constantInts(2, "the block's shape");
  if (failed(image) || failed(block))
    return failure();
  size_t spatial = image->size();
  Shape strides = node.intsAttr("strides").value_or(Shape(spatial, 1));
  Shape dilations = node.intsAttr("dilations").value_or(Shape(spatial, 1));
  Shape pads = node.intsAttr("pads").value_or(Shape(2 * spatial, 0));
  if (node.rank(0) != 3 || spatial < 1 || block->size() != spatial ||
      strides.size() != spatial || dilations.size() != spatial ||
      pads.size() != 2 * spatial)
    return node.malformed("shapes, strides, dilations or pads");
  int64_t elements = 1, blocks = 1;
  Shape counts, padded;
  for (size_t i = 0; i < spatial; ++i) {
    padded.push_back((*image)[i] + pads[i] + pads[i + spatial]);
    int64_t extent = dilations[i] * ((*block)[i] - 1) + 1;
    if ((*block)[i] < 1 || strides[i] < 1 || dilations[i] < 1 || pads[i] < 0 ||
        pads[i + spatial] < 0 || extent > padded[i])
      return node.malformed("a block of shape " + shapeText(*block) +
                            " in an image of shape " + shapeText(*image));
    counts.push_back((padded[i] - extent) / strides[i] + 1);
    elements *= (*block)[i];
    blocks *= counts[i];
  }
  int64_t batch = node.shape(0)[0], rows = node.shape(0)[1];
  if (rows % elements || node.shape(0)[2] != blocks)
    return node.malformed("columns of shape " + shapeText(node.shape(0)) +
                          " for " + Twine(blocks) + " blocks of " +
                          Twine(elements));
  Shape split = {batch, rows / elements, elements};
  llvm::append_range(split, counts);
  Value columns = node.reshape(node.in(0), split);
  Value sum;
  for (int64_t k = 0; k < elements; ++k) {
    Shape part = {batch, rows / elements}, whole = part;
    llvm::append_range(part, counts);
    llvm::append_range(whole, padded);
    Shape low(2, 0), high(2, 0), interior(2, 0);
    int64_t rest = k, inner = elements;
    for (size_t i = 0; i < spatial; ++i) {
      inner /= (*block)[i];
      int64_t offset = rest / inner * dilations[i];
      rest %= inner;
      low.push_back(offset);
      interior.push_back(strides[i] - 1);
      high.push_back(padded[i] - offset - ((counts[i] - 1) * strides[i] + 1));
    }
    Value one = node.reshape(node.sliceDim(columns, 2, k, k + 1), part);
    auto type = RankedTensorType::get(whole, node.type(0).getElementType());
    Value placed = PadOp::create(node.b, node.loc, type, one, low, high,
                                 interior, llvm::APFloat(0.0));
    sum = sum ? node.binary<AddOp>(sum, placed) : placed;
  }
  for (size_t i = 0; i < spatial; ++i)
    sum = node.sliceDim(sum, static_cast<int64_t>(i + 2), pads[i],
                        pads[i] + (*image)[i]);
  return node.result(sum);
}

} // namespace

void onnx_import::registerScatter(Registry &registry) {
  registry.add("ScatterElements", importScatterElements);
  registry.add("Scatter", importScatterElements);
  registry.add("ScatterND", importScatterND);
  registry.add("TensorScatter", importTensorScatter);
  registry.add("MaxUnpool", importMaxUnpool);
  registry.add("Col2Im", importCol2Im);
}
