// SPDX-License-Identifier: Apache-2.0

// Resampling: along each axis, an element of the result is a weighted sum of a
// few elements of the operand, at constant positions and with constant weights.

#include "frontends/onnx/model/Node.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

/// The rules for coordinates and weights.
struct Sampling {
  std::string mode, coordinates, rounding;
  double cubicA;
  bool excludeOutside;
  /// Whether a smaller result is also smoother.
  bool antialias = false;
  /// The region of the input, relative to its size, and the value of what is
  /// outside of the input: of tf_crop_and_resize only.
  double start = 0.0, end = 1.0, extrapolation = 0.0;
};

/// Returns the operand's coordinate of element `i` of the result. Lengths are
/// those of the tensors, also where a scale makes the result a fraction longer.
template <typename Real>
Real coordinate(const Sampling &sampling, int64_t i, int64_t from, int64_t to,
                double factor) {
  auto x = static_cast<Real>(i), length = static_cast<Real>(to);
  auto scale = static_cast<Real>(factor), half = static_cast<Real>(0.5);
  auto last = static_cast<Real>(from - 1);
  if (sampling.coordinates == "asymmetric")
    return x / scale;
  if (sampling.coordinates == "align_corners")
    return to == 1 ? 0 : x * last / (length - 1);
  if (sampling.coordinates == "pytorch_half_pixel" && to == 1)
    return 0;
  if (sampling.coordinates == "tf_half_pixel_for_nn")
    return (x + half) / scale;
  if (sampling.coordinates == "tf_crop_and_resize") {
    auto start = static_cast<Real>(sampling.start),
         end = static_cast<Real>(sampling.end);
    return to == 1 ? half * (start + end) * last
                   : start * last + x * (end - start) * last / (length - 1);
  }
  if (sampling.coordinates == "half_pixel_symmetric") {
    Real centre = static_cast<Real>(from) / 2;
    Real offset = centre * (1 - length / (scale * static_cast<Real>(from)));
    return offset + (x + half) / scale - half;
  }
  return (x + half) / scale - half;
}

/// Returns the same in single precision, as producers and ONNX Runtime compute
/// it, where a rounding decides which element is read.
double steppedCoordinate(const Sampling &sampling, int64_t i, int64_t from,
                         int64_t to, double scale) {
  return coordinate<float>(sampling, i, from, to, scale);
}

int64_t nearest(const Sampling &sampling, double x, double scale) {
  double low = std::floor(x);
  // A rule of ONNX Runtime for opset 10, which leaves it open.
  if (sampling.rounding == "ceil_if_smaller")
    return static_cast<int64_t>(scale < 1.0 ? std::ceil(x) : low);
  if (sampling.rounding == "floor")
    return static_cast<int64_t>(low);
  if (sampling.rounding == "ceil")
    return static_cast<int64_t>(std::ceil(x));
  bool up =
      sampling.rounding == "round_prefer_ceil" ? x - low >= 0.5 : x - low > 0.5;
  return static_cast<int64_t>(low) + (up ? 1 : 0);
}

/// Returns the weight of an element at this distance in cubic convolution.
double cubicWeight(double distance, double a) {
  double t = std::abs(distance);
  if (t <= 1.0)
    return ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0;
  if (t < 2.0)
    return ((t - 5.0) * t + 8.0) * t * a - 4.0 * a;
  return 0.0;
}

/// The k-th term of each sum along one axis.
struct Tap {
  Shape indices;
  SmallVector<double> weights;
};

/// Returns the weight of an element at this distance.
double weightAt(const Sampling &sampling, double distance) {
  if (sampling.mode == "linear")
    return std::max(0.0, 1.0 - std::abs(distance));
  return cubicWeight(distance, sampling.cubicA);
}

SmallVector<Tap> findTaps(const Sampling &sampling, int64_t from, int64_t to,
                          double scale) {
  bool isNearest = sampling.mode == "nearest";
  // Without aliasing, an element has an influence on as many as it has
  // neighbours in the result.
  double spread = sampling.antialias ? std::max(1.0, 1.0 / scale) : 1.0;
  double radius = (sampling.mode == "linear" ? 1.0 : 2.0) * spread;
  int64_t count = isNearest ? 1 : 2 * static_cast<int64_t>(std::ceil(radius));
  SmallVector<Tap> taps(count);
  for (int64_t i = 0; i < to; ++i) {
    double x = isNearest ? steppedCoordinate(sampling, i, from, to, scale)
                         : coordinate<double>(sampling, i, from, to, scale);
    int64_t first = isNearest
                        ? nearest(sampling, x, scale)
                        : static_cast<int64_t>(std::floor(x)) - (count / 2 - 1);
    SmallVector<double> weights;
    double total = 0.0;
    for (int64_t k = 0; k < count; ++k) {
      double distance = (x - static_cast<double>(first + k)) / spread;
      double weight = isNearest ? 1.0 : weightAt(sampling, distance);
      if (sampling.excludeOutside && (first + k < 0 || first + k >= from))
        weight = 0.0;
      weights.push_back(weight);
      total += weight;
    }
    bool normalized = sampling.excludeOutside || spread != 1.0;
    for (int64_t k = 0; k < count; ++k) {
      taps[k].indices.push_back(std::clamp<int64_t>(first + k, 0, from - 1));
      taps[k].weights.push_back(normalized ? weights[k] / total : weights[k]);
    }
  }
  return taps;
}

/// Returns the value with what lies outside of the input replaced along `dim`.
Value extrapolate(Node &node, const Sampling &sampling, Value value,
                  int64_t dim, int64_t from, double scale) {
  RankedTensorType type = tensorType(value);
  int64_t to = type.getDimSize(dim);
  SmallVector<bool> outside;
  for (int64_t i = 0; i < to; ++i) {
    double x = steppedCoordinate(sampling, i, from, to, scale);
    outside.push_back(x < 0 || x > static_cast<double>(from - 1));
  }
  if (!llvm::is_contained(outside, true))
    return value;
  Value mask = node.constant(
      DenseElementsAttr::get(RankedTensorType::get({to}, node.b.getI1Type()),
                             ArrayRef<bool>(outside)));
  return node.select(node.alongDim(mask, type.getShape(), dim),
                     node.splatOf(value, sampling.extrapolation), value);
}

/// Returns the elements at constant positions along `dim`.
Value takeAlong(Node &node, Value value, int64_t dim,
                ArrayRef<int64_t> indices) {
  Shape shape(tensorType(value).getShape());
  int64_t from = shape[dim], to = static_cast<int64_t>(indices.size());
  shape[dim] = to;
  // Integer factors repeat each element: a broadcast, whose gradient is a sum.
  int64_t times = from ? to / from : 0;
  bool repeats = times > 0 && times * from == to;
  for (int64_t i = 0; repeats && i < to; ++i)
    repeats = indices[i] == i / times;
  if (repeats) {
    Shape split(tensorType(value).getShape()), wide(split);
    wide.insert(wide.begin() + dim + 1, times);
    return node.reshape(broadcastOver(node.b, node.loc, value, wide, {dim + 1}),
                        shape);
  }
  auto type = RankedTensorType::get(shape, tensorType(value).getElementType());
  return GatherOp::create(node.b, node.loc, type, value,
                          node.constantInts(indices), dim);
}

Value resample(Node &node, Value value, int64_t dim, ArrayRef<Tap> taps) {
  if (taps.size() == 1)
    return takeAlong(node, value, dim, taps[0].indices);
  Value sum;
  for (const Tap &tap : taps) {
    Value term = takeAlong(node, value, dim, tap.indices);
    RankedTensorType type = tensorType(term);
    auto vector = RankedTensorType::get(
        {static_cast<int64_t>(tap.weights.size())}, node.b.getF64Type());
    Value weights = node.cast(node.constant(DenseElementsAttr::get(
                                  vector, ArrayRef<double>(tap.weights))),
                              type.getElementType());
    term =
        node.binary<MulOp>(term, node.alongDim(weights, type.getShape(), dim));
    sum = sum ? node.binary<AddOp>(sum, term) : term;
  }
  return sum;
}

/// Returns the only input that specifies the size of the result, as doubles.
FailureOr<SmallVector<double>> constantDoubles(Node &node, size_t i) {
  DenseElementsAttr attr;
  if (!matchPattern(node.in(i), m_Constant(&attr)))
    return node.notConstant("the scale or size");
  SmallVector<double> values;
  if (isa<FloatType>(attr.getElementType()))
    for (const APFloat &value : attr.getValues<APFloat>())
      values.push_back(value.convertToDouble());
  else
    for (const APInt &value : attr.getValues<APInt>())
      values.push_back(static_cast<double>(value.getSExtValue()));
  return values;
}

/// Returns the scales or sizes of all dimensions, or of those in `axes`.
struct Target {
  Shape axes;
  SmallVector<double> scales, sizes;
};

FailureOr<Target> readTarget(Node &node) {
  Target target;
  auto all = llvm::seq<int64_t>(0, node.rank(0));
  target.axes.assign(all.begin(), all.end());
  if (std::optional<Shape> axes = node.intsAttr("axes")) {
    if (failed(node.normalizeAxes(*axes, node.rank(0))))
      return failure();
    target.axes.clear();
    for (int64_t axis : *axes)
      target.axes.push_back(axis < 0 ? axis + node.rank(0) : axis);
  }
  auto given = [&](size_t i) {
    return node.has(i) && node.type(i).getNumElements() > 0;
  };
  if (const onnx::AttributeProto *scales = node.find("scales")) {
    target.scales.assign(scales->floats().begin(), scales->floats().end());
  } else {
    // Before opset 11 scales are the second input, since then the third.
    size_t at = node.opset < 11 || node.opType() == "Upsample" ? 1 : 2;
    bool bySize = !given(at);
    if (bySize && (at == 1 || !given(3)))
      return node.malformed("neither scales nor sizes are given");
    FailureOr<SmallVector<double>> values =
        constantDoubles(node, bySize ? 3 : at);
    if (failed(values))
      return failure();
    (bySize ? target.sizes : target.scales) = *values;
  }
  if (std::max(target.scales.size(), target.sizes.size()) != target.axes.size())
    return node.malformed("scales or sizes for another number of dimensions");
  return target;
}

/// Replaces sizes by those that keep the proportions of the input.
LogicalResult keepAspectRatio(Node &node, Target &target) {
  std::string policy = node.stringAttr("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch" || target.sizes.empty())
    return success();
  if (policy != "not_larger" && policy != "not_smaller")
    return node.malformed("keep_aspect_ratio_policy is '" + policy + "'");
  std::optional<double> scale;
  for (auto [dim, size] : llvm::zip_equal(target.axes, target.sizes)) {
    double own = size / static_cast<double>(node.shape(0)[dim]);
    if (!scale)
      scale = own;
    scale =
        policy == "not_larger" ? std::min(*scale, own) : std::max(*scale, own);
  }
  for (auto [dim, size] : llvm::zip_equal(target.axes, target.sizes))
    size = std::floor(*scale * static_cast<double>(node.shape(0)[dim]) + 0.5);
  // The scale is the common one, also where sizes are rounded.
  target.scales.assign(target.axes.size(), scale.value_or(1.0));
  return success();
}

/// The most elements that are read for one of the result.
constexpr double kMaxTaps = 256.0;

LogicalResult importResize(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  // Before opset 11 there was one rule for coordinates.
  bool old = node.opset < 11 || node.opType() == "Upsample";
  Sampling sampling;
  sampling.mode = node.stringAttr("mode", "nearest");
  sampling.coordinates =
      old ? "asymmetric"
          : node.stringAttr("coordinate_transformation_mode", "half_pixel");
  if (old)
    sampling.rounding = node.graph.isFromTorch() ? "floor" : "ceil_if_smaller";
  else
    sampling.rounding = node.stringAttr("nearest_mode", "round_prefer_floor");
  sampling.cubicA = node.floatAttr("cubic_coeff_a", -0.75);
  sampling.excludeOutside = node.intAttr("exclude_outside", 0);
  if (sampling.mode != "nearest" && sampling.mode != "linear" &&
      sampling.mode != "cubic")
    return node.malformed("mode is '" + sampling.mode + "'");
  sampling.antialias =
      node.intAttr("antialias", 0) && sampling.mode != "nearest";
  sampling.extrapolation = node.floatAttr("extrapolation_value", 0.0);
  FailureOr<Target> target = readTarget(node);
  if (failed(target) || failed(keepAspectRatio(node, *target)))
    return failure();
  bool crops = sampling.coordinates == "tf_crop_and_resize";
  SmallVector<double> regions;
  if (crops) {
    if (!node.has(1))
      return node.malformed("no region to crop");
    FailureOr<SmallVector<double>> given = constantDoubles(node, 1);
    if (failed(given))
      return failure();
    regions = *given;
    if (regions.size() != 2 * target->axes.size())
      return node.malformed("a region of another number of dimensions");
  }

  constexpr double kLargest = 1 << 20;
  Value value = node.in(0);
  for (auto [i, dim] : llvm::enumerate(target->axes)) {
    int64_t from = node.shape(0)[dim];
    bool bySize = !target->sizes.empty();
    double wanted = bySize ? target->sizes[i]
                           // In the precision of the scale: 0.7 times 10 is 7.
                           : std::floor(static_cast<float>(from) *
                                        static_cast<float>(target->scales[i]));
    if (!(wanted >= 1.0 && wanted <= kLargest) || from < 1)
      return node.malformed("a dimension of " + Twine(from) +
                            " cannot be resized so");
    auto to = static_cast<int64_t>(wanted);
    double scale = target->scales.empty() ? wanted / static_cast<double>(from)
                                          : target->scales[i];
    if (crops) {
      sampling.start = regions[i];
      sampling.end = regions[i + target->axes.size()];
    }
    bool isWhole = !crops || (sampling.start == 0.0 && sampling.end == 1.0);
    if (to == from && scale == 1.0 && isWhole)
      continue;
    if (sampling.antialias && scale * kMaxTaps < 4.0)
      return node.unsupported("antialias at a scale of " +
                              std::to_string(scale));
    value = resample(node, value, dim, findTaps(sampling, from, to, scale));
    if (crops)
      value = extrapolate(node, sampling, value, dim, from, scale);
  }
  return node.result(value);
}

} // namespace

void onnx_import::registerResize(Registry &registry) {
  registry.add("Resize", importResize);
  registry.add("Upsample", importResize);
}
