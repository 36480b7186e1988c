// SPDX-License-Identifier: Apache-2.0

// Operators that read an image between its elements, at positions that are
// computed: GridSample, RoiAlign, DeformConv; and AffineGrid, which computes
// such positions.
//
// The image is laid out as rows of channels, of which each position reads a few
// (its taps): one gather per tap, whose gradient is a scatter.

#include "dialects/ingot/builders/Arithmetic.h"
#include "frontends/onnx/model/Node.h"
#include "mlir/IR/Matchers.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

/// Integers of a dimension of the image, as floating-point numbers, and the
/// weights of the elements there; null stands for 1.
struct Tap {
  Value index, weight;
};

/// Formulas on coordinates of one shape.
class Coordinates {
public:
  explicit Coordinates(Node &node) : node(node), a(node.b, node.loc) {}

  Value floor(Value x) { return node.unary<FloorOp>(x); }
  Value clamp(Value x, int64_t size) {
    return a.min(a.max(x, 0.0), static_cast<double>(size - 1));
  }
  /// Returns `clamp(x)` without a derivative at the borders themselves, as
  /// PyTorch's has none.
  Value clampInside(Value x, int64_t size) {
    auto last = static_cast<double>(size - 1);
    Value below = a.select(a.compare(Predicate::LT, x, last), x, last);
    return a.select(a.compare(Predicate::GT, x, 0.0), below, 0.0);
  }
  Value isInside(Value x, double low, double high) {
    return a.logicalAnd(a.compare(Predicate::GE, x, low),
                        a.compare(Predicate::LE, x, high));
  }
  /// Reflects at the borders as often as needed.
  Value reflect(Value x, double low, double high) {
    double range = high - low;
    if (range <= 0)
      return a.constantLike(x, low);
    Value distance = a.abs(a.sub(x, low));
    Value times = floor(a.div(distance, range));
    Value rest = a.sub(distance, a.mul(times, range));
    Value isOdd = a.compare(
        Predicate::NE, a.sub(times, a.mul(floor(a.mul(times, 0.5)), 2.0)), 0.0);
    return a.select(isOdd, a.sub(high, rest), a.add(rest, low));
  }

  /// Returns the neighbours of linear interpolation.
  SmallVector<Tap> linear(Value x) {
    Value first = floor(x), far = a.sub(x, first);
    return {{first, a.sub(1.0, far)}, {a.add(first, 1.0), far}};
  }

  /// Returns those of cubic convolution (R. Keys, 1981) with a = -0.75.
  SmallVector<Tap> cubic(Value x) {
    constexpr double kA = -0.75;
    Value first = floor(x), far = a.sub(x, first);
    auto inner = [&](Value t) {
      Value line = a.sub(a.mul(t, kA + 2), kA + 3);
      return a.add(a.mul(a.mul(line, t), t), 1.0);
    };
    auto outer = [&](Value t) {
      Value sum = a.sub(a.mul(t, kA), 5 * kA);
      sum = a.add(a.mul(sum, t), 8 * kA);
      return a.sub(a.mul(sum, t), 4 * kA);
    };
    return {{a.sub(first, 1.0), outer(a.add(far, 1.0))},
            {first, inner(far)},
            {a.add(first, 1.0), inner(a.sub(1.0, far))},
            {a.add(first, 2.0), outer(a.sub(2.0, far))}};
  }

  Node &node;
  Arithmetic a;
};

/// An image [images, sizes..., channels] as rows.
class Image {
public:
  /// `value` is [images, channels, sizes...].
  Image(Node &node, Value value) : node(node), a(node.b, node.loc) {
    ArrayRef<int64_t> shape = tensorType(value).getShape();
    sizes.assign(shape.begin() + 2, shape.end());
    channels = shape[1];
    Shape order = {0};
    for (size_t i = 2; i < shape.size(); ++i)
      order.push_back(static_cast<int64_t>(i));
    order.push_back(1);
    int64_t count = shape[0];
    for (int64_t size : sizes)
      count *= size;
    rows = node.reshape(node.transpose(value, order), {count, channels});
  }

  /// Returns the rows [..., channels] at clamped indices, times the product of
  /// the taps' weights. `image` is the number of the image of each position.
  Value read(Value image, ArrayRef<Tap> taps, Coordinates &at) {
    Type i64 = node.b.getI64Type();
    Value position = image, weight;
    for (auto [tap, size] : llvm::zip_equal(taps, sizes)) {
      Value index = a.cast(at.clamp(tap.index, size), i64);
      position = a.add(a.mul(position, static_cast<double>(size)), index);
      if (tap.weight)
        weight = weight ? a.mul(weight, tap.weight) : tap.weight;
    }
    Shape shape(tensorType(position).getShape());
    shape.push_back(channels);
    Value found = GatherOp::create(
        node.b, node.loc,
        RankedTensorType::get(shape, tensorType(rows).getElementType()), rows,
        position, 0);
    if (!weight)
      return found;
    return a.mul(found,
                 a.broadcastOver(weight, shape,
                                 {static_cast<int64_t>(shape.size()) - 1}));
  }

  Shape sizes;
  int64_t channels;

private:
  Node &node;
  Arithmetic a;
  Value rows;
};

/// Calls `visit` for each combination of one tap per dimension.
template <typename Visit>
void forEachCombination(ArrayRef<SmallVector<Tap>> taps, Visit visit) {
  SmallVector<Tap> chosen;
  auto choose = [&](auto &self, size_t dim) -> void {
    if (dim == taps.size())
      return visit(ArrayRef<Tap>(chosen));
    for (const Tap &tap : taps[dim]) {
      chosen.push_back(tap);
      self(self, dim + 1);
      chosen.pop_back();
    }
  };
  choose(choose, 0);
}

/// Sets weights to 0 where the tap is outside of the image.
void dropOutside(Coordinates &at, SmallVector<Tap> &taps, int64_t size) {
  for (Tap &tap : taps) {
    Value inside = at.isInside(tap.index, 0.0, static_cast<double>(size - 1));
    Value weight = tap.weight ? tap.weight : at.a.constantLike(tap.index, 1.0);
    tap.weight = at.a.select(inside, weight, 0.0);
  }
}

//===----------------------------------------------------------------------===//
// GridSample
//===----------------------------------------------------------------------===//

struct GridMode {
  std::string mode, padding;
  bool alignCorners;
};

/// Returns the taps of one dimension of the image at normalized coordinates.
SmallVector<Tap> gridTaps(Coordinates &at, const GridMode &mode, Value grid,
                          int64_t size) {
  Arithmetic &a = at.a;
  auto length = static_cast<double>(size);
  Value x = mode.alignCorners
                ? a.mul(a.add(grid, 1.0), (length - 1.0) / 2.0)
                : a.mul(a.sub(a.mul(a.add(grid, 1.0), length), 1.0), 0.5);
  double low = mode.alignCorners ? 0.0 : -0.5;
  double high = mode.alignCorners ? length - 1.0 : length - 0.5;
  bool reflects = mode.padding == "reflection";
  // Of a cubic convolution the neighbours are moved into the image, not the
  // position between them; their indices are clamped when they are read.
  bool cubic = mode.mode == "cubic";
  if (!cubic && reflects)
    x = at.reflect(x, low, high);
  if (!cubic && mode.padding != "zeros")
    x = at.clampInside(x, size);
  SmallVector<Tap> taps;
  if (mode.mode == "nearest")
    taps = {{at.node.unary<RoundOp>(x), nullptr}};
  else
    taps = cubic ? at.cubic(x) : at.linear(x);
  if (mode.padding == "zeros")
    dropOutside(at, taps, size);
  if (cubic && reflects)
    for (Tap &tap : taps)
      tap.index = at.reflect(tap.index, low, high);
  return taps;
}

LogicalResult importGridSample(Node &node) {
  if (failed(node.requireFloat(0)) || failed(node.requireFloat(1)))
    return failure();
  int64_t dims = node.rank(0) - 2;
  if (dims < 1 || node.rank(1) != node.rank(0) ||
      node.shape(1).back() != dims || node.shape(1)[0] != node.shape(0)[0])
    return node.malformed("an input of shape " + shapeText(node.shape(0)) +
                          " and a grid of shape " + shapeText(node.shape(1)));
  GridMode mode = {node.stringAttr("mode", "linear"),
                   node.stringAttr("padding_mode", "zeros"),
                   node.intAttr("align_corners", 0) != 0};
  if (mode.mode == "bilinear")
    mode.mode = "linear";
  if (mode.mode == "bicubic")
    mode.mode = "cubic";
  if ((mode.mode != "linear" && mode.mode != "nearest" &&
       mode.mode != "cubic") ||
      (mode.padding != "zeros" && mode.padding != "border" &&
       mode.padding != "reflection"))
    return node.malformed("mode '" + mode.mode + "' or padding_mode '" +
                          mode.padding + "'");
  Type element = computeElement(node.in(0));
  Image image(node, node.cast(node.in(0), element));
  Value grid = node.cast(node.in(1), element);
  int64_t batch = node.shape(0)[0], count = 1;
  Shape spatial(node.shape(1).drop_front().drop_back());
  for (int64_t size : spatial)
    count *= size;
  Coordinates at(node);
  Shape points = {batch, count};
  std::vector<SmallVector<Tap>> taps;
  for (int64_t d = 0; d < dims; ++d) {
    // Coordinates are in the opposite order of dimensions.
    Value part = node.sliceDim(grid, node.rank(1) - 1, dims - 1 - d, dims - d);
    taps.push_back(
        gridTaps(at, mode, node.reshape(part, points), image.sizes[d]));
  }
  Value number = node.iota(points, node.b.getI64Type(), 0), sum;
  forEachCombination(taps, [&](ArrayRef<Tap> chosen) {
    Value term = image.read(number, chosen, at);
    sum = sum ? at.a.add(sum, term) : term;
  });
  Shape shape = {batch, image.channels};
  llvm::append_range(shape, spatial);
  Value result = node.reshape(node.transpose(sum, {0, 2, 1}), shape);
  return node.result(node.cast(result, node.type(0).getElementType()));
}

//===----------------------------------------------------------------------===//
// AffineGrid
//===----------------------------------------------------------------------===//

/// The function that ONNX defines it by takes no single image, and divides by
/// zero where a dimension of one element keeps its corners.
LogicalResult importAffineGrid(Node &node) {
  FailureOr<Shape> size = node.constantInts(1, "the size");
  if (failed(node.requireFloat(0)) || failed(size))
    return failure();
  int64_t dims = static_cast<int64_t>(size->size()) - 2;
  if ((dims != 2 && dims != 3) || llvm::any_of(*size, [](int64_t n) {
        return n < 1 || n > std::numeric_limits<int32_t>::max();
      }))
    return node.malformed("the size " + shapeText(*size));
  if (node.shape(0) != ArrayRef<int64_t>({size->front(), dims, dims + 1}))
    return node.malformed("theta of shape " + shapeText(node.shape(0)) +
                          " for the size " + shapeText(*size));
  bool alignCorners = node.intAttr("align_corners", 0) != 0;
  Type element = computeElement(node.in(0));
  Arithmetic a(node.b, node.loc);
  Shape points = {size->front()};
  llvm::append_range(points, ArrayRef(*size).drop_front(2));
  points.push_back(dims);
  Value theta = node.cast(node.in(0), element), sum;
  for (int64_t column = 0; column <= dims; ++column) {
    Value term =
        a.broadcast(node.reshape(node.sliceDim(theta, 2, column, column + 1),
                                 {size->front(), dims}),
                    points, {0, dims + 1});
    if (column < dims) {
      // Coordinates are in the opposite order of dimensions.
      int64_t dim = dims - column, length = points[dim];
      SmallVector<double> at;
      for (int64_t i = 0; i < length; ++i) {
        auto twice = static_cast<double>(2 * i);
        auto count = static_cast<double>(length);
        if (alignCorners)
          at.push_back(length == 1 ? 0.0 : twice / (count - 1.0) - 1.0);
        else
          at.push_back((twice + 1.0) / count - 1.0);
      }
      auto vector = RankedTensorType::get({length}, node.b.getF64Type());
      Value along = node.cast(
          node.constant(DenseElementsAttr::get(vector, ArrayRef<double>(at))),
          element);
      term = a.mul(term, node.alongDim(along, points, dim));
    }
    sum = sum ? a.add(sum, term) : term;
  }
  return node.result(node.cast(sum, node.type(0).getElementType()));
}

//===----------------------------------------------------------------------===//
// RoiAlign
//===----------------------------------------------------------------------===//

/// How many samples a bin takes along one dimension.
struct SampleCounts {
  /// The number of samples of the region that has the most.
  int64_t most;
  /// The number of samples of each region, where they differ.
  Value byRegion = nullptr;
};

/// The boxes of a RoiAlign and how it reads them.
struct Regions {
  int64_t count;
  double scale;
  bool halfPixel;

  /// Returns the columns of the borders along a dimension of the image.
  static std::pair<int64_t, int64_t> columns(int64_t dim) {
    return dim == 0 ? std::make_pair<int64_t, int64_t>(1, 3)
                    : std::make_pair<int64_t, int64_t>(0, 2);
  }

  /// Returns as many samples as a bin has elements of the image, which the
  /// operator takes where sampling_ratio is 0.
  FailureOr<SampleCounts> adapt(Node &node, Type element, int64_t dim,
                                int64_t bins) const {
    DenseElementsAttr boxes;
    if (!matchPattern(node.in(1), m_Constant(&boxes)))
      return node.fail("RoiAlign: sampling_ratio is 0, which takes a number of "
                       "samples that depends on the regions, and these are not "
                       "known at compile time",
                       "export the model with a sampling_ratio of 1 or more, "
                       "or bind the regions with --value NAME=V");
    // As the operator rounds, of which a number next to an integer tells.
    auto rounded = [&](double value) {
      return element.isF64() ? value
                             : static_cast<double>(static_cast<float>(value));
    };
    SmallVector<double> borders;
    for (const APFloat &value : boxes.getValues<APFloat>())
      borders.push_back(
          rounded(rounded(rounded(value.convertToDouble()) * rounded(scale)) -
                  (halfPixel ? 0.5 : 0.0)));
    auto [low, high] = columns(dim);
    SmallVector<double> counts;
    double most = 1;
    for (int64_t i = 0; i < count; ++i) {
      double extent = rounded(borders[4 * i + high] - borders[4 * i + low]);
      if (!halfPixel)
        extent = std::max(extent, 1.0);
      counts.push_back(std::ceil(rounded(extent / static_cast<double>(bins))));
      // Not a number either.
      if (!(counts.back() <= static_cast<double>(kMostSamples)))
        return node.unsupported("region " + Twine(i) +
                                ", whose bins take more " + "than " +
                                Twine(kMostSamples) + " samples a side,");
      counts.back() = std::max(counts.back(), 0.0);
      most = std::max(most, counts.back());
    }
    SampleCounts found = {static_cast<int64_t>(most)};
    if (llvm::any_of(counts, [&](double n) { return n != most; })) {
      auto f64 = RankedTensorType::get({count}, node.b.getF64Type());
      found.byRegion = node.cast(
          node.constant(DenseElementsAttr::get(f64, ArrayRef(counts))),
          element);
    }
    return found;
  }

private:
  static constexpr int64_t kMostSamples = 4096;
};

LogicalResult importRoiAlign(Node &node) {
  if (failed(node.requireFloat(0)) || failed(node.requireFloat(1)))
    return failure();
  int64_t height = node.intAttr("output_height", 1);
  int64_t width = node.intAttr("output_width", 1);
  int64_t ratio = node.intAttr("sampling_ratio", 0);
  std::string mode = node.stringAttr("mode", "avg");
  if (node.rank(0) != 4 || node.rank(1) != 2 || node.shape(1)[1] != 4 ||
      node.rank(2) != 1 || node.shape(2)[0] != node.shape(1)[0] || height < 1 ||
      width < 1 || (mode != "avg" && mode != "max"))
    return node.malformed("shapes or attributes");
  std::string transformation =
      node.stringAttr("coordinate_transformation_mode",
                      node.opset < 16 ? "output_half_pixel" : "half_pixel");
  bool halfPixel = transformation == "half_pixel";
  double scale = node.floatAttr("spatial_scale", 1.0);

  Type element = computeElement(node.in(0));
  int64_t regions = node.shape(1)[0];
  SampleCounts samples[] = {{ratio}, {ratio}};
  if (ratio < 1) {
    Regions boxes = {regions, scale, halfPixel};
    for (int64_t dim : {0, 1}) {
      FailureOr<SampleCounts> found =
          boxes.adapt(node, element, dim, dim == 0 ? height : width);
      if (failed(found))
        return failure();
      samples[dim] = *found;
    }
  }
  Coordinates at(node);
  Arithmetic &a = at.a;
  Image image(node, node.cast(node.in(0), element));
  Value rois = node.cast(node.in(1), element);
  // Dimensions: region, bin (vertical, horizontal), sample (likewise).
  Shape points = {regions, height, width, samples[0].most, samples[1].most};
  auto place = [&](int64_t d) { return node.iota(points, element, d); };
  auto countOf = [&](int64_t dim) {
    return samples[dim].byRegion
               ? a.broadcast(samples[dim].byRegion, points, {0})
               : a.constantLike(place(0),
                                static_cast<double>(samples[dim].most));
  };
  auto coordinate = [&](int64_t dim, int64_t bins) {
    auto border = [&](int64_t column) {
      Value part =
          node.reshape(node.sliceDim(rois, 1, column, column + 1), {regions});
      return a.sub(a.mul(part, scale), halfPixel ? 0.5 : 0.0);
    };
    auto [low, high] = Regions::columns(dim);
    Value start = border(low), end = border(high);
    Value extent = a.sub(end, start);
    if (!halfPixel)
      extent = a.max(extent, 1.0);
    Value size = a.div(extent, static_cast<double>(bins));
    // A region without samples has weights of 0.
    Value count = a.max(countOf(dim), 1.0);
    Value offset =
        a.add(place(1 + dim), a.div(a.add(place(3 + dim), 0.5), count));
    return a.add(a.broadcast(start, points, {0}),
                 a.mul(a.broadcast(size, points, {0}), offset));
  };
  std::vector<SmallVector<Tap>> taps;
  // Where a region takes fewer samples than another one.
  Value taken;
  for (int64_t dim : {0, 1}) {
    int64_t limit = image.sizes[dim];
    Value x = coordinate(dim, dim == 0 ? height : width);
    Value inside = at.isInside(x, -1.0, static_cast<double>(limit));
    if (samples[dim].byRegion) {
      Value within = a.compare(Predicate::LT, place(3 + dim), countOf(dim));
      inside = a.logicalAnd(inside, within);
      taken = taken ? a.logicalAnd(taken, within) : within;
    }
    taps.push_back(at.linear(at.clamp(x, limit)));
    for (Tap &tap : taps.back())
      tap.weight = a.select(inside, tap.weight, 0.0);
  }
  Type i64 = node.b.getI64Type();
  Value number = a.broadcast(a.cast(node.in(2), i64), points, {0}), total;
  forEachCombination(taps, [&](ArrayRef<Tap> chosen) {
    Value term = image.read(number, chosen, at);
    if (!total)
      total = term;
    else
      total = mode == "avg" ? a.add(total, term) : a.max(total, term);
  });
  Shape binned = {regions, height, width, image.channels};
  Value pooled;
  if (mode == "avg") {
    Value bins = node.iota(binned, element, 0), divisor;
    for (int64_t dim : {0, 1}) {
      Value count =
          samples[dim].byRegion
              ? a.broadcast(samples[dim].byRegion, binned, {0})
              : a.constantLike(bins, static_cast<double>(samples[dim].most));
      divisor = divisor ? a.mul(divisor, count) : count;
    }
    pooled = a.div(a.sum(total, {3, 4}), a.max(divisor, 1.0));
  } else if (!taken) {
    pooled = a.maxOver(total, {3, 4});
  } else {
    // The largest of those that are taken; 0 of none.
    Value all = a.broadcastOver(taken, tensorType(total).getShape(), {5});
    pooled = a.maxOver(
        a.select(all, total, -std::numeric_limits<double>::infinity()), {3, 4});
    Value none = a.compare(Predicate::EQ, pooled,
                           -std::numeric_limits<double>::infinity());
    pooled = a.select(none, 0.0, pooled);
  }
  return node.result(node.cast(node.transpose(pooled, {0, 3, 1, 2}),
                               node.type(0).getElementType()));
}

//===----------------------------------------------------------------------===//
// DeformConv
//===----------------------------------------------------------------------===//

LogicalResult importDeformConv(Node &node) {
  for (size_t i : {0, 1, 2})
    if (failed(node.requireFloat(i)))
      return failure();
  if (node.rank(0) != 4 || node.rank(1) != 4 || node.rank(2) != 4)
    return node.unsupported("an input of rank " + Twine(node.rank(0)));
  int64_t batch = node.shape(0)[0], channels = node.shape(0)[1];
  int64_t outputs = node.shape(1)[0], groups = node.intAttr("group", 1);
  int64_t offsetGroups = node.intAttr("offset_group", 1);
  Shape kernel = {node.shape(1)[2], node.shape(1)[3]};
  Shape strides = node.intsAttr("strides").value_or(Shape(2, 1));
  Shape dilations = node.intsAttr("dilations").value_or(Shape(2, 1));
  Shape pads = node.intsAttr("pads").value_or(Shape(4, 0));
  Shape out(node.shape(2).drop_front(2));
  int64_t taps = kernel[0] * kernel[1];
  bool fits =
      strides.size() == 2 && dilations.size() == 2 && pads.size() == 4 &&
      groups > 0 && offsetGroups > 0 && taps > 0 && channels % groups == 0 &&
      outputs % groups == 0 && channels % offsetGroups == 0 &&
      node.shape(1)[1] == channels / groups && node.shape(2)[0] == batch &&
      node.shape(2)[1] == 2 * offsetGroups * taps;
  for (size_t i = 0; fits && i < 2; ++i)
    fits = strides[i] > 0 && dilations[i] > 0 &&
           out[i] == (node.shape(0)[i + 2] + pads[i] + pads[i + 2] -
                      dilations[i] * (kernel[i] - 1) - 1) /
                             strides[i] +
                         1;
  Shape maskShape = {batch, offsetGroups * taps, out[0], out[1]};
  if (!fits || (node.has(3) && node.shape(3) != ArrayRef<int64_t>({outputs})) ||
      (node.has(4) && node.shape(4) != ArrayRef(maskShape)))
    return node.malformed("shapes or attributes");

  Coordinates at(node);
  Arithmetic &a = at.a;
  Type element = computeElement(node.in(0));
  // Each offset group of channels is an image of its own.
  int64_t images = batch * offsetGroups, part = channels / offsetGroups;
  Image image(node,
              node.reshape(node.cast(node.in(0), element),
                           {images, part, node.shape(0)[2], node.shape(0)[3]}));
  Shape points = {images, kernel[0], kernel[1], out[0], out[1]};
  Value offsets =
      node.reshape(node.cast(node.in(2), element),
                   {images, kernel[0], kernel[1], 2, out[0], out[1]});
  std::vector<SmallVector<Tap>> found;
  for (int64_t dim : {0, 1}) {
    Value moved = node.reshape(node.sliceDim(offsets, 3, dim, dim + 1), points);
    Value start = a.sub(a.mul(node.iota(points, element, 3 + dim),
                              static_cast<double>(strides[dim])),
                        static_cast<double>(pads[dim]));
    Value tap = a.mul(node.iota(points, element, 1 + dim),
                      static_cast<double>(dilations[dim]));
    found.push_back(at.linear(a.add(a.add(start, tap), moved)));
    dropOutside(at, found.back(), image.sizes[dim]);
  }
  Value number = node.iota(points, node.b.getI64Type(), 0), sum;
  forEachCombination(found, [&](ArrayRef<Tap> chosen) {
    Value term = image.read(number, chosen, at);
    sum = sum ? a.add(sum, term) : term;
  });
  if (node.has(4)) {
    Value mask = node.reshape(node.cast(node.in(4), element), points);
    sum = a.mul(sum, a.broadcastOver(mask, tensorType(sum).getShape(), {5}));
  }
  // [batch, offset group, kernel, positions, channel] to columns
  // [group, channel and kernel, batch and positions].
  int64_t positions = out[0] * out[1], rows = channels / groups * taps;
  Value columns =
      node.reshape(sum, {batch, offsetGroups, taps, positions, part});
  columns = node.transpose(columns, {1, 4, 2, 0, 3});
  columns = node.reshape(columns, {groups, rows, batch * positions});
  Value weights = node.reshape(node.cast(node.in(1), element),
                               {groups, outputs / groups, rows});
  FailureOr<Value> product = node.matmul(weights, columns);
  if (failed(product))
    return failure();
  Value result = node.transpose(
      node.reshape(*product, {outputs, batch, positions}), {1, 0, 2});
  result = node.reshape(result, {batch, outputs, out[0], out[1]});
  if (node.has(3))
    result = a.add(result, a.broadcast(node.cast(node.in(3), element),
                                       tensorType(result).getShape(), {1}));
  return node.result(node.cast(result, node.type(0).getElementType()));
}

} // namespace

void onnx_import::registerSampling(Registry &registry) {
  registry.add("GridSample", importGridSample);
  registry.add("AffineGrid", importAffineGrid);
  registry.add("RoiAlign", importRoiAlign);
  registry.add("DeformConv", importDeformConv);
}
