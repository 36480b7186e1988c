// SPDX-License-Identifier: Apache-2.0

// Pooling over windows and over all spatial dimensions.

#include "frontends/onnx/ops/nn/Windows.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

/// The window of a pool with the effect of `ceil_mode`: high padding that adds
/// the last, partial window. `ownHigh` is the padding of the model.
struct Pool {
  Window window;
  Shape ownHigh, output;
};

FailureOr<Pool> readPool(Node &node, bool anyElement = false) {
  if (!anyElement && failed(node.requireFloat(0)))
    return failure();
  if (node.rank(0) < 3 || node.rank(0) > 5)
    return node.unsupported("an input of rank " + Twine(node.rank(0)));
  ArrayRef<int64_t> spatial = node.shape(0).drop_front(2);
  FailureOr<Window> window = readWindow(node, spatial, {});
  if (failed(window))
    return failure();
  Pool pool{*window, window->padHigh, {}};
  bool ceiling = node.intAttr("ceil_mode", 0);
  for (size_t i = 0; i < spatial.size(); ++i) {
    Window &w = pool.window;
    int64_t padded = spatial[i] + w.padLow[i] + w.padHigh[i];
    int64_t room = padded - w.extent(i);
    // The only window is a partial one, of which no more than the input counts.
    if (ceiling && room < 0 && -room < w.strides[i] && w.dilations[i] == 1) {
      w.kernel[i] = padded;
      room = 0;
    }
    if (room < 0)
      return node.malformed("the kernel " + shapeText(w.kernel) +
                            " is larger than the padded input " +
                            shapeText(spatial));
    int64_t size = room / w.strides[i] + 1;
    if (ceiling && room % w.strides[i]) {
      // A window that would start in the high padding is omitted.
      if (size * w.strides[i] < spatial[i] + w.padLow[i]) {
        w.padHigh[i] += size * w.strides[i] - room;
        ++size;
      }
    }
    pool.output.push_back(size);
  }
  return pool;
}

RankedTensorType resultType(Node &node, const Pool &pool) {
  Shape shape(node.shape(0).take_front(2));
  llvm::append_range(shape, pool.output);
  return RankedTensorType::get(shape, node.type(0).getElementType());
}

/// Returns positions in a plane in column-major order, from row-major ones.
Value inColumnOrder(Node &node, Value positions, ArrayRef<int64_t> plane) {
  Value result;
  double stride = 1.0;
  // The last dimension changes fastest in row-major order, the first one in
  // column-major order.
  SmallVector<Value> coordinates(plane.size());
  for (size_t i = plane.size(); i-- > 0;) {
    auto size = static_cast<double>(plane[i]);
    coordinates[i] = node.binary<RemOp>(positions, size);
    positions = node.binary<DivOp>(positions, size);
  }
  for (auto [coordinate, size] : llvm::zip_equal(coordinates, plane)) {
    Value part = node.binary<MulOp>(coordinate, stride);
    result = result ? node.binary<AddOp>(result, part) : part;
    stride *= static_cast<double>(size);
  }
  return result;
}

/// Bytes are pooled as floating-point numbers, which hold them exactly.
LogicalResult importMaxPool(Node &node) {
  Type element = node.type(0).getElementType();
  bool isByte = element.isInteger(8);
  FailureOr<Pool> pool = readPool(node, /*anyElement=*/isByte);
  if (failed(pool))
    return failure();
  const Window &w = pool->window;
  for (size_t i = 0; i < w.kernel.size(); ++i)
    if (w.padLow[i] >= w.extent(i) || pool->ownHigh[i] >= w.extent(i))
      return node.unsupported("padding as large as the window");
  RankedTensorType type = resultType(node, *pool);
  Value x = node.in(0);
  if (isByte) {
    x = node.cast(x, node.b.getF32Type());
    type = withElement(type, node.b.getF32Type());
  }
  auto op = MaxPoolOp::create(
      node.b, node.loc, TypeRange{type, withElement(type, node.b.getI64Type())},
      x, w.kernel, w.strides, w.dilations, w.padLow, w.padHigh);
  node.set(0, node.cast(op.getResult(), element));
  if (!node.wants(1))
    return success();
  Value inPlane = op.getIndices();
  if (node.intAttr("storage_order", 0))
    inPlane = inColumnOrder(node, inPlane, node.shape(0).drop_front(2));
  // ONNX counts positions over the whole tensor.
  int64_t plane = 1;
  for (int64_t size : node.shape(0).drop_front(2))
    plane *= size;
  Shape planes(type.getShape().take_front(2));
  Type i64 = node.b.getI64Type();
  Value first =
      node.binary<AddOp>(node.binary<MulOp>(node.iota(planes, i64, 0),
                                            static_cast<double>(planes[1])),
                         node.iota(planes, i64, 1));
  Value offset = broadcastTo(
      node.b, node.loc, node.binary<MulOp>(first, static_cast<double>(plane)),
      type.getShape(), {0, 1});
  node.set(1, node.binary<AddOp>(inPlane, offset));
  return success();
}

/// Dimensions that are longer are not padded: the counts are a constant.
constexpr int64_t kMaxCounts = int64_t(1) << 24;

/// Returns the number of elements that each window along one dimension averages
/// over: those within the input, and with `count_include_pad` in the model's
/// own padding. It is one number if all windows are alike, and nothing if there
/// are too many of them.
Shape windowCounts(const Pool &pool, size_t dim, int64_t size,
                   bool includePad) {
  const Window &w = pool.window;
  int64_t low = includePad ? -w.padLow[dim] : 0;
  int64_t high = size + (includePad ? pool.ownHigh[dim] : 0);
  int64_t kernel = w.kernel[dim], dilation = w.dilations[dim];
  int64_t first = -w.padLow[dim];
  int64_t last = first + (pool.output[dim] - 1) * w.strides[dim];
  if (first >= low && last + (kernel - 1) * dilation < high)
    return {kernel};
  Shape counts;
  if (pool.output[dim] > kMaxCounts)
    return counts;
  for (int64_t start = first; start <= last; start += w.strides[dim]) {
    // The taps k with low <= start + k * dilation < high.
    int64_t from = start >= low ? 0 : llvm::divideCeil(low - start, dilation);
    int64_t to = start >= high ? 0 : llvm::divideCeil(high - start, dilation);
    counts.push_back(std::max<int64_t>(std::min(to, kernel) - from, 0));
  }
  return counts;
}

LogicalResult importAveragePool(Node &node) {
  FailureOr<Pool> pool = readPool(node);
  if (failed(pool))
    return failure();
  const Window &w = pool->window;
  RankedTensorType type = resultType(node, *pool);
  Value sum = SumPoolOp::create(node.b, node.loc, type, node.in(0), w.kernel,
                                w.strides, w.dilations, w.padLow, w.padHigh);
  bool includePad = node.intAttr("count_include_pad", 0);
  // The number of elements is a product over dimensions.
  Value divisor;
  double factor = 1.0;
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    Shape counts = windowCounts(*pool, i, node.shape(0)[i + 2], includePad);
    if (counts.empty())
      return node.unsupported("padding of a dimension of " +
                              Twine(node.shape(0)[i + 2]));
    if (llvm::is_contained(counts, 0))
      return node.unsupported("a window that lies in the padding");
    if (llvm::all_equal(counts)) {
      factor *= static_cast<double>(counts.front());
      continue;
    }
    Value along = node.alongDim(
        node.cast(node.constantInts(counts), type.getElementType()),
        type.getShape(), static_cast<int64_t>(i) + 2);
    divisor = divisor ? node.binary<MulOp>(divisor, along) : along;
  }
  if (factor != 1.0)
    divisor = divisor ? node.binary<MulOp>(divisor, factor)
                      : node.splatOf(sum, factor);
  return node.result(divisor ? node.binary<DivOp>(sum, divisor) : sum);
}

//===----------------------------------------------------------------------===//
// Lp norms
//===----------------------------------------------------------------------===//

Value powerOf(Node &node, Value x, int64_t p) {
  Value size = node.unary<AbsOp>(x);
  if (p == 1)
    return size;
  if (p == 2)
    return node.binary<MulOp>(x, x);
  return node.binary<PowOp>(size, static_cast<double>(p));
}

LogicalResult importLpPool(Node &node) {
  FailureOr<Pool> pool = readPool(node);
  if (failed(pool))
    return failure();
  int64_t p = node.intAttr("p", 2);
  if (p < 1)
    return node.malformed("p is " + Twine(p));
  const Window &w = pool->window;
  Value sum = SumPoolOp::create(node.b, node.loc, resultType(node, *pool),
                                powerOf(node, node.in(0), p), w.kernel,
                                w.strides, w.dilations, w.padLow, w.padHigh);
  return node.result(node.root(sum, p));
}

Shape spatialDims(Node &node) {
  auto dims = llvm::seq<int64_t>(2, node.rank(0));
  return Shape(dims.begin(), dims.end());
}

LogicalResult importGlobalAveragePool(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  if (node.rank(0) < 3)
    return node.malformed("no spatial dimensions");
  int64_t count = 1;
  for (int64_t size : node.shape(0).drop_front(2))
    count *= size;
  Value sum = node.reduce(ReductionKind::Sum, node.in(0), spatialDims(node),
                          /*keep=*/true);
  return node.result(node.binary<DivOp>(sum, static_cast<double>(count)));
}

LogicalResult importGlobalLpPool(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  int64_t p = node.intAttr("p", 2);
  if (node.rank(0) < 3 || p < 1)
    return node.malformed("no spatial dimensions, or p is " + Twine(p));
  Value sum = node.reduce(ReductionKind::Sum, powerOf(node, node.in(0), p),
                          spatialDims(node), /*keep=*/true);
  return node.result(node.root(sum, p));
}

LogicalResult importGlobalMaxPool(Node &node) {
  if (node.rank(0) < 3)
    return node.malformed("no spatial dimensions");
  return node.result(node.reduce(ReductionKind::Max, node.in(0),
                                 spatialDims(node), /*keep=*/true));
}

} // namespace

void onnx_import::registerPooling(Registry &registry) {
  registry.add("MaxPool", importMaxPool);
  registry.add("AveragePool", importAveragePool);
  registry.add("LpPool", importLpPool);
  registry.add("GlobalLpPool", importGlobalLpPool);
  registry.add("GlobalAveragePool", importGlobalAveragePool);
  registry.add("GlobalMaxPool", importGlobalMaxPool);
}
