// SPDX-License-Identifier: Apache-2.0

// Operators that order, accumulate or choose elements along a dimension.

#include "frontends/onnx/ops/tensor/Indices.h"
#include "mlir/IR/Matchers.h"
#include <limits>
#include <map>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

/// Returns the order of dimensions with `dim` at the end.
Shape lastOrder(int64_t rank, int64_t dim) {
  Shape order;
  for (int64_t i = 0; i < rank; ++i)
    if (i != dim)
      order.push_back(i);
  order.push_back(dim);
  return order;
}

Shape inverse(ArrayRef<int64_t> order) {
  Shape result(order.size());
  for (auto [to, from] : llvm::enumerate(order))
    result[from] = static_cast<int64_t>(to);
  return result;
}

//===----------------------------------------------------------------------===//
// TopK
//===----------------------------------------------------------------------===//

/// Returns whether a comes before b in the order of TopK, without ties; NaN is
/// the largest number.
Value isBefore(Node &node, Value a, Value b, bool largest) {
  Value before = node.compare(largest ? Predicate::GT : Predicate::LT, a, b);
  if (!isa<FloatType>(tensorType(a).getElementType()))
    return before;
  Value first = largest ? a : b, second = largest ? b : a;
  Value isLarger =
      node.binary<AndOp>(node.compare(Predicate::NE, first, first),
                         node.compare(Predicate::EQ, second, second));
  return node.binary<OrOp>(before, isLarger);
}

/// Returns the indices of the first `count` elements along the last dimension
/// by counting those before each: the rank of an element is its position.
Value indicesByRank(Node &node, Value x, int64_t count, bool largest) {
  Shape shape(tensorType(x).getShape());
  int64_t dim = static_cast<int64_t>(shape.size()) - 1, size = shape[dim];
  Type i32 = node.b.getI32Type();
  Shape pairs = shape;
  pairs.push_back(size);
  Value own = broadcastOver(node.b, node.loc, x, pairs, {dim + 1});
  Value other = broadcastOver(node.b, node.loc, x, pairs, {dim});
  Value tie = node.unary<NotOp>(isBefore(node, own, other, largest));
  Value earlier = node.compare(Predicate::LT, node.iota(pairs, i32, dim + 1),
                               node.iota(pairs, i32, dim));
  Value before = node.binary<OrOp>(isBefore(node, other, own, largest),
                                   node.binary<AndOp>(tie, earlier));
  Value rank = node.reduce(ReductionKind::Sum, node.cast(before, i32),
                           {dim + 1}, /*keep=*/false);
  Shape places = shape;
  places.insert(places.begin() + dim, count);
  Value hot = node.compare(Predicate::EQ,
                           broadcastOver(node.b, node.loc, rank, places, {dim}),
                           node.iota(places, i32, dim));
  shape[dim] = count;
  return ArgMaxOp::create(node.b, node.loc,
                          RankedTensorType::get(shape, node.b.getI64Type()),
                          node.cast(hot, i32), dim + 1);
}

/// Returns the same by searching the remaining elements `count` times.
Value indicesBySearch(Node &node, Value x, int64_t count, bool largest) {
  Shape shape(tensorType(x).getShape());
  int64_t dim = static_cast<int64_t>(shape.size()) - 1;
  Type i64 = node.b.getI64Type(), i32 = node.b.getI32Type();
  Value number = node.iota(shape, i64, dim);
  Value remaining = splat(
      node.b, node.loc, RankedTensorType::get(shape, node.b.getI1Type()), 1.0);
  Shape one(ArrayRef<int64_t>(shape).drop_back()), kept = one;
  kept.push_back(1);
  Type element = tensorType(x).getElementType();
  bool isFloat = isa<FloatType>(element);
  SmallVector<Value> found;
  for (int64_t k = 0; k < count; ++k) {
    // Elements that are gone are replaced by one that remains, so that they do
    // not change the extremum.
    Value first =
        ArgMaxOp::create(node.b, node.loc, RankedTensorType::get(one, i64),
                         node.cast(remaining, i32), dim);
    Value other = TakeAlongOp::create(node.b, node.loc,
                                      RankedTensorType::get(kept, element), x,
                                      node.reshape(first, kept), dim);
    Value filled = node.select(remaining, x, node.broadcast(other, shape));
    if (isFloat && !largest)
      filled = node.select(
          node.compare(Predicate::NE, filled, filled),
          node.splatOf(filled, std::numeric_limits<double>::infinity()),
          filled);
    Value best = node.reduce(largest ? ReductionKind::Max : ReductionKind::Min,
                             filled, {dim}, /*keep=*/false);
    Value wide = broadcastOver(node.b, node.loc, best, shape, {dim});
    // NaN is the largest number: the extremum is NaN if an element is.
    Value isBest = node.compare(Predicate::EQ, filled, wide);
    if (isFloat && largest)
      isBest = node.binary<OrOp>(isBest,
                                 node.compare(Predicate::NE, filled, filled));
    Value index = ArgMaxOp::create(
        node.b, node.loc, RankedTensorType::get(one, i64),
        node.cast(node.binary<AndOp>(remaining, isBest), i32), dim);
    remaining = node.binary<AndOp>(
        remaining,
        node.compare(Predicate::NE, number,
                     broadcastOver(node.b, node.loc, index, shape, {dim})));
    found.push_back(node.reshape(index, kept));
  }
  return node.concat(found, dim);
}

/// Counting takes about the square of the size, searching its product with the
/// count. The values' gradient goes to the elements that were chosen.
LogicalResult importTopK(Node &node) {
  FailureOr<int64_t> dim =
      node.normalizeAxis(node.intAttr("axis", -1), node.rank(0));
  FailureOr<double> given =
      node.opset < 10
          ? FailureOr<double>(static_cast<double>(node.intAttr("k", -1)))
          : node.constantScalar(1, "k");
  if (failed(dim) || failed(given))
    return failure();
  auto count = static_cast<int64_t>(*given);
  int64_t size = node.shape(0)[*dim];
  if (count < 0 || count > size)
    return node.malformed("k " + Twine(count) + " of a dimension of " +
                          Twine(size));
  bool largest = node.intAttr("largest", 1);
  Shape order = lastOrder(node.rank(0), *dim);
  Value x = node.transpose(node.in(0), order);
  Shape shape(tensorType(x).getShape());
  shape.back() = count;
  Value indices, values;
  if (count == 0 || tensorType(x).getNumElements() == 0) {
    indices = splat(node.b, node.loc,
                    RankedTensorType::get(shape, node.b.getI64Type()), 0.0);
    values = node.sliceDim(x, node.rank(0) - 1, 0, count);
  } else {
    constexpr int64_t kSmall = 1024;
    bool search = size > kSmall && count < size / 8;
    indices = search ? indicesBySearch(node, x, count, largest)
                     : indicesByRank(node, x, count, largest);
    values = TakeAlongOp::create(
        node.b, node.loc,
        RankedTensorType::get(shape, tensorType(x).getElementType()), x,
        indices, node.rank(0) - 1);
  }
  Shape back = inverse(order);
  node.set(0, node.transpose(values, back));
  node.set(1, node.transpose(indices, back));
  return success();
}

//===----------------------------------------------------------------------===//
// Accumulation
//===----------------------------------------------------------------------===//

/// Returns x moved by `places` along `dim`, with `fill` in the places that
/// become free.
Value moveUp(Node &node, Value x, int64_t dim, int64_t places, double fill) {
  ArrayRef<int64_t> shape = tensorType(x).getShape();
  Shape low(shape.size(), 0), high(shape.size(), 0);
  low[dim] = std::min(places, shape[dim]);
  return node.pad(node.sliceDim(x, dim, 0, shape[dim] - low[dim]), low, high,
                  fill);
}

/// Combines each element with those before it. In round k, an element that is
/// the combination of 2^k neighbours is combined with the 2^k before them.
template <typename OpT>
LogicalResult importAccumulation(Node &node, double identity) {
  FailureOr<double> given = node.constantScalar(1, "the axis");
  if (failed(given))
    return failure();
  FailureOr<int64_t> dim =
      node.normalizeAxis(static_cast<int64_t>(*given), node.rank(0));
  if (failed(dim))
    return failure();
  int64_t size = node.shape(0)[*dim];
  bool reversed = node.intAttr("reverse", 0);
  Value x = node.in(0);
  if (reversed)
    x = node.reverse(x, {*dim});
  if (node.intAttr("exclusive", 0))
    x = moveUp(node, x, *dim, 1, identity);
  for (int64_t places = 1; places < size; places *= 2)
    x = node.binary<OpT>(x, moveUp(node, x, *dim, places, identity));
  if (reversed)
    x = node.reverse(x, {*dim});
  return node.result(x);
}

/// Returns the sums over a triangle: element i of the result is the sum of
/// those that precede it. One pass, which few elements are read often enough to
/// be worth.
LogicalResult importShortCumSum(Node &node, int64_t dim) {
  int64_t size = node.shape(0)[dim];
  Shape wide(node.shape(0));
  wide.insert(wide.begin() + dim, size);
  Type i64 = node.b.getI64Type();
  Shape square = {size, size};
  Value to = node.iota(square, i64, 0), from = node.iota(square, i64, 1);
  bool exclusive = node.intAttr("exclusive", 0);
  if (node.intAttr("reverse", 0))
    std::swap(to, from);
  Value counts =
      node.compare(exclusive ? Predicate::LT : Predicate::LE, from, to);
  Value mask = broadcastTo(node.b, node.loc, counts, wide, {dim, dim + 1});
  Value repeated = broadcastOver(node.b, node.loc, node.in(0), wide, {dim});
  Value kept = node.select(mask, repeated, node.splatOf(repeated, 0.0));
  return node.result(
      node.reduce(ReductionKind::Sum, kept, {dim + 1}, /*keep=*/false));
}

LogicalResult importCumSum(Node &node) {
  FailureOr<double> given = node.constantScalar(1, "the axis");
  if (failed(given))
    return failure();
  FailureOr<int64_t> dim =
      node.normalizeAxis(static_cast<int64_t>(*given), node.rank(0));
  if (failed(dim))
    return failure();
  constexpr int64_t kShort = 64;
  if (node.shape(0)[*dim] <= kShort)
    return importShortCumSum(node, *dim);
  return importAccumulation<AddOp>(node, 0.0);
}

LogicalResult importCumProd(Node &node) {
  return importAccumulation<MulOp>(node, 1.0);
}

/// Reverses the first elements of each sequence of a batch.
LogicalResult importReverseSequence(Node &node) {
  int64_t time = node.intAttr("time_axis", 0);
  int64_t batch = node.intAttr("batch_axis", 1);
  if (node.rank(0) < 2 || time < 0 || time > 1 || batch != 1 - time ||
      node.shape(1) != ArrayRef<int64_t>({node.shape(0)[batch]}))
    return node.malformed("axes or sequence lengths");
  Type i64 = node.b.getI64Type();
  ArrayRef<int64_t> shape = node.shape(0);
  Value index = node.iota(shape, i64, time);
  Value length = node.alongDim(node.cast(node.in(1), i64), shape, batch);
  Value mirrored = node.binary<SubOp>(node.binary<SubOp>(length, 1.0), index);
  Value from =
      node.select(node.compare(Predicate::LT, index, length), mirrored, index);
  return node.result(TakeAlongOp::create(node.b, node.loc, node.type(0),
                                         node.in(0), from, time));
}

//===----------------------------------------------------------------------===//
// Results whose shape depends on elements: these must be constants
//===----------------------------------------------------------------------===//

/// Returns the elements of a constant as doubles; int64 beyond 2^53 is not what
/// such operators are applied to.
FailureOr<SmallVector<double>> knownElements(Node &node, size_t i,
                                             StringRef what) {
  DenseElementsAttr attr;
  if (!matchPattern(node.in(i), m_Constant(&attr)))
    return node.notConstant(what);
  SmallVector<double> values;
  bool isUnsigned = attr.getElementType().isUnsignedInteger() ||
                    attr.getElementType().isInteger(1);
  if (isa<FloatType>(attr.getElementType()))
    for (APFloat value : attr.getValues<APFloat>()) {
      bool losesInfo;
      value.convert(llvm::APFloat::IEEEdouble(),
                    llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      values.push_back(value.convertToDouble());
    }
  else
    for (const APInt &value : attr.getValues<APInt>())
      values.push_back(value.roundToDouble(!isUnsigned));
  return values;
}

LogicalResult importNonZero(Node &node) {
  FailureOr<SmallVector<double>> values =
      knownElements(node, 0, "which elements are not zero");
  if (failed(values))
    return failure();
  int64_t rank = node.rank(0);
  SmallVector<Shape> found(rank);
  for (auto [position, value] : llvm::enumerate(*values)) {
    if (value == 0.0)
      continue;
    auto rest = static_cast<int64_t>(position);
    for (int64_t dim = rank - 1; dim >= 0; --dim) {
      found[dim].push_back(rest % node.shape(0)[dim]);
      rest /= node.shape(0)[dim];
    }
  }
  Shape all;
  for (const Shape &coordinates : found)
    llvm::append_range(all, coordinates);
  int64_t count = rank ? static_cast<int64_t>(found[0].size()) : 0;
  auto type = RankedTensorType::get({rank, count}, node.b.getI64Type());
  return node.result(
      node.constant(DenseElementsAttr::get(type, ArrayRef<int64_t>(all))));
}

/// Returns the first input and its dimension that `axis` names; without the
/// attribute, all elements in one dimension.
FailureOr<std::pair<Value, int64_t>> dataAlongAxis(Node &node) {
  Value data = node.in(0);
  if (!node.hasAttr("axis"))
    return std::pair(node.reshape(data, {node.type(0).getNumElements()}),
                     int64_t(0));
  FailureOr<int64_t> axis =
      node.normalizeAxis(node.intAttr("axis", 0), node.rank(0));
  if (failed(axis))
    return failure();
  return std::pair(data, *axis);
}

LogicalResult importCompress(Node &node) {
  FailureOr<SmallVector<double>> condition =
      knownElements(node, 1, "the condition");
  if (failed(condition))
    return failure();
  FailureOr<std::pair<Value, int64_t>> along = dataAlongAxis(node);
  if (failed(along))
    return failure();
  auto [data, dim] = *along;
  Shape shape(tensorType(data).getShape()), kept;
  if (static_cast<int64_t>(condition->size()) > shape[dim])
    return node.malformed("a condition of " + Twine(condition->size()) +
                          " elements for a dimension of " + Twine(shape[dim]));
  for (auto [i, holds] : llvm::enumerate(*condition))
    if (holds != 0.0)
      kept.push_back(static_cast<int64_t>(i));
  shape[dim] = static_cast<int64_t>(kept.size());
  auto type = RankedTensorType::get(shape, tensorType(data).getElementType());
  return node.result(GatherOp::create(node.b, node.loc, type, data,
                                      node.constantInts(kept), dim));
}

LogicalResult importUnique(Node &node) {
  FailureOr<SmallVector<double>> values =
      knownElements(node, 0, "which elements are unique");
  if (failed(values))
    return failure();
  FailureOr<std::pair<Value, int64_t>> along = dataAlongAxis(node);
  if (failed(along))
    return failure();
  auto [data, dim] = *along;
  Shape shape(tensorType(data).getShape());
  int64_t outer = 1, size = shape[dim], inner = 1;
  for (auto [i, length] : llvm::enumerate(shape)) {
    if (static_cast<int64_t>(i) < dim)
      outer *= length;
    if (static_cast<int64_t>(i) > dim)
      inner *= length;
  }
  // Slices are compared in row-major order.
  std::map<std::vector<double>, SmallVector<int64_t>> groups;
  for (int64_t i = 0; i < size; ++i) {
    std::vector<double> slice;
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t n = 0; n < inner; ++n)
        slice.push_back((*values)[(o * size + i) * inner + n]);
    groups[slice].push_back(i);
  }
  SmallVector<SmallVector<int64_t>> ordered;
  for (auto &[slice, places] : groups)
    ordered.push_back(places);
  if (!node.intAttr("sorted", 1))
    llvm::sort(ordered, [](const auto &a, const auto &b) {
      return a.front() < b.front();
    });
  Shape first, counts, places(size, 0);
  for (auto [number, group] : llvm::enumerate(ordered)) {
    first.push_back(group.front());
    counts.push_back(static_cast<int64_t>(group.size()));
    for (int64_t i : group)
      places[i] = static_cast<int64_t>(number);
  }
  shape[dim] = static_cast<int64_t>(first.size());
  auto type = RankedTensorType::get(shape, tensorType(data).getElementType());
  Value indices = node.constantInts(first);
  node.set(0, GatherOp::create(node.b, node.loc, type, data, indices, dim));
  node.set(1, indices);
  node.set(2, node.constantInts(places));
  node.set(3, node.constantInts(counts));
  return success();
}

} // namespace

void onnx_import::registerSelection(Registry &registry) {
  registry.add("TopK", importTopK);
  registry.add("CumSum", importCumSum);
  registry.add("CumProd", importCumProd);
  registry.add("ReverseSequence", importReverseSequence);
  registry.add("NonZero", importNonZero);
  registry.add("Compress", importCompress);
  registry.add("Unique", importUnique);
}
