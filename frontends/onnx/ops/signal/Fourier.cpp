// SPDX-License-Identifier: Apache-2.0

// Transforms of signals: products with constant matrices, whose gradients are
// products with the transposed ones.

#include "frontends/onnx/model/Node.h"
#include "frontends/onnx/model/Tensors.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

/// The matrices would take too much memory beyond.
constexpr int64_t kMaxMatrix = int64_t(1) << 25;

/// Returns a constant matrix with elements of a function of row and column.
template <typename Function>
Value matrix(Node &node, int64_t rows, int64_t columns, Type element,
             Function at) {
  SmallVector<APFloat> values;
  values.reserve(rows * columns);
  const llvm::fltSemantics &semantics =
      cast<FloatType>(element).getFloatSemantics();
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      bool losesInfo;
      values.emplace_back(static_cast<double>(at(i, j)));
      values.back().convert(semantics, llvm::APFloat::rmNearestTiesToEven,
                            &losesInfo);
    }
  auto type = RankedTensorType::get({rows, columns}, element);
  return node.constant(DenseElementsAttr::get(type, values));
}

/// A complex signal along the last dimension; `imaginary` is null if it is
/// real.
struct Signal {
  Value real, imaginary;
};

/// Returns x * matrix along the last dimension.
FailureOr<Value> product(Node &node, Value x, Value matrix) {
  ArrayRef<int64_t> shape = tensorType(x).getShape();
  int64_t rows =
      tensorType(x).getNumElements() / std::max<int64_t>(shape.back(), 1);
  FailureOr<Value> flat =
      node.matmul(node.reshape(x, {rows, shape.back()}), matrix);
  if (failed(flat))
    return failure();
  Shape result(shape.drop_back());
  result.push_back(tensorType(matrix).getDimSize(1));
  return node.reshape(*flat, result);
}

/// Computes `outputs` frequencies (or, inverse, times) of a signal of `length`
/// elements, of which those that are missing are 0.
FailureOr<Signal> transform(Node &node, Signal x, int64_t length,
                            int64_t outputs, bool inverse) {
  RankedTensorType type = tensorType(x.real);
  int64_t inputs = type.getShape().back();
  if (inputs * outputs > kMaxMatrix)
    return node.unsupported("a transform of " + Twine(length) + " elements");
  double scale = inverse ? 1.0 / static_cast<double>(length) : 1.0;
  auto angle = [&](int64_t i, int64_t j) {
    // Reduced exactly, as an integer.
    auto turns = static_cast<double>(i * j % length);
    return 2.0 * llvm::numbers::pi * turns / static_cast<double>(length);
  };
  Type element = type.getElementType();
  Value cosines = matrix(node, inputs, outputs, element, [&](auto i, auto j) {
    return scale * std::cos(angle(i, j));
  });
  double sign = inverse ? 1.0 : -1.0;
  Value sines = matrix(node, inputs, outputs, element, [&](auto i, auto j) {
    return scale * sign * std::sin(angle(i, j));
  });
  FailureOr<Value> real = product(node, x.real, cosines);
  FailureOr<Value> imaginary = product(node, x.real, sines);
  if (failed(real) || failed(imaginary))
    return failure();
  if (x.imaginary) {
    FailureOr<Value> less = product(node, x.imaginary, sines);
    FailureOr<Value> more = product(node, x.imaginary, cosines);
    if (failed(less) || failed(more))
      return failure();
    real = node.binary<SubOp>(*real, *less);
    imaginary = node.binary<AddOp>(*imaginary, *more);
  }
  return Signal{*real, *imaginary};
}

/// Returns the real signal of `length` elements that has these frequencies,
/// and the conjugates of all but the first at negative ones.
FailureOr<Value> realInverse(Node &node, Signal x, int64_t length) {
  RankedTensorType type = tensorType(x.real);
  int64_t given = type.getShape().back();
  if (given * length > kMaxMatrix)
    return node.unsupported("a transform of " + Twine(length) + " elements");
  auto weight = [&](int64_t k) {
    if (2 * k > length)
      return 0.0;
    bool isOwnConjugate = k == 0 || 2 * k == length;
    return (isOwnConjugate ? 1.0 : 2.0) / static_cast<double>(length);
  };
  auto angle = [&](int64_t k, int64_t t) {
    auto turns = static_cast<double>(k * t % length);
    return 2.0 * llvm::numbers::pi * turns / static_cast<double>(length);
  };
  Type element = type.getElementType();
  Value cosines = matrix(node, given, length, element, [&](auto k, auto t) {
    return weight(k) * std::cos(angle(k, t));
  });
  Value sines = matrix(node, given, length, element, [&](auto k, auto t) {
    return weight(k) * std::sin(angle(k, t));
  });
  FailureOr<Value> result = product(node, x.real, cosines);
  if (failed(result) || !x.imaginary)
    return result;
  FailureOr<Value> less = product(node, x.imaginary, sines);
  if (failed(less))
    return failure();
  return node.binary<SubOp>(*result, *less);
}

/// Returns the parts of a signal [..., 1 or 2] with `dim` as last dimension,
/// cut or padded to `length` (unless -1).
Signal split(Node &node, Value x, int64_t dim, int64_t length) {
  int64_t last = tensorType(x).getRank() - 1;
  Shape order;
  for (int64_t i = 0; i < last; ++i)
    if (i != dim)
      order.push_back(i);
  order.push_back(dim);
  auto part = [&](int64_t i) {
    Value value = node.sliceDim(x, last, i, i + 1);
    value = node.reshape(value, tensorType(x).getShape().drop_back());
    value = node.transpose(value, order);
    int64_t size = tensorType(value).getShape().back();
    return length >= 0 && size > length
               ? node.sliceDim(value, last - 1, 0, length)
               : value;
  };
  return {part(0), tensorType(x).getShape().back() == 2 ? part(1) : Value()};
}

/// The inverse of `split`.
Value merge(Node &node, Signal x, int64_t dim) {
  int64_t rank = tensorType(x.real).getRank();
  Shape order;
  for (int64_t i = 0; i < rank; ++i)
    order.push_back(i < dim ? i : i == dim ? rank - 1 : i - 1);
  auto part = [&](Value value) {
    value = node.transpose(value, order);
    Shape shape(tensorType(value).getShape());
    shape.push_back(1);
    return node.reshape(value, shape);
  };
  if (!x.imaginary)
    return part(x.real);
  return node.concat({part(x.real), part(x.imaginary)}, rank);
}

LogicalResult importDFT(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  int64_t rank = node.rank(0);
  int64_t given = node.opset < 20 ? node.intAttr("axis", 1) : -2;
  if (node.opset >= 20 && node.has(2)) {
    FailureOr<double> axis = node.constantScalar(2, "the axis");
    if (failed(axis))
      return failure();
    given = static_cast<int64_t>(*axis);
  }
  FailureOr<int64_t> dim = node.normalizeAxis(given, rank);
  if (failed(dim))
    return failure();
  int64_t parts = node.shape(0).back(), size = node.shape(0)[*dim];
  if (*dim == rank - 1 || parts < 1 || parts > 2)
    return node.malformed("a signal of shape " + shapeText(node.shape(0)) +
                          " along dimension " + Twine(*dim));
  bool inverse = node.intAttr("inverse", 0);
  bool onesided = node.intAttr("onesided", 0);
  int64_t length = inverse && onesided ? 2 * (size - 1) : size;
  if (node.has(1)) {
    FailureOr<double> asked = node.constantScalar(1, "the length");
    if (failed(asked))
      return failure();
    length = static_cast<int64_t>(*asked);
  }
  if (length < 1)
    return node.malformed("a transform of " + Twine(length) + " elements");
  if (inverse && onesided) {
    Signal x = split(node, node.in(0), *dim, length / 2 + 1);
    FailureOr<Value> real = realInverse(node, x, length);
    if (failed(real))
      return failure();
    return node.result(merge(node, {*real, nullptr}, *dim));
  }
  Signal x = split(node, node.in(0), *dim, length);
  FailureOr<Signal> result =
      transform(node, x, length, onesided ? length / 2 + 1 : length, inverse);
  if (failed(result))
    return failure();
  return node.result(merge(node, *result, *dim));
}

/// Frames overlap: each is read where it begins.
LogicalResult importSTFT(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  if (node.rank(0) != 3 || node.shape(0)[2] < 1 || node.shape(0)[2] > 2)
    return node.malformed("a signal of shape " + shapeText(node.shape(0)));
  FailureOr<double> step = node.constantScalar(1, "the step between frames");
  if (failed(step))
    return failure();
  int64_t size = node.shape(0)[1], length = size;
  if (node.has(3)) {
    FailureOr<double> given = node.constantScalar(3, "the length of a frame");
    if (failed(given))
      return failure();
    length = static_cast<int64_t>(*given);
  } else if (node.has(2)) {
    length = node.shape(2).empty() ? 0 : node.shape(2)[0];
  }
  auto stride = static_cast<int64_t>(*step);
  if (stride < 1 || length < 1 || length > size ||
      (node.has(2) && node.shape(2) != ArrayRef<int64_t>({length})))
    return node.malformed("frames of " + Twine(length) + " elements every " +
                          Twine(stride) + " of a signal of " + Twine(size));
  int64_t frames = 1 + (size - length) / stride, batch = node.shape(0)[0];
  Shape shape = {frames, length}, framed = {batch, frames, length};
  Type i64 = node.b.getI64Type();
  Value index = node.binary<AddOp>(
      node.binary<MulOp>(node.iota(shape, i64, 0), static_cast<double>(stride)),
      node.iota(shape, i64, 1));
  auto type = RankedTensorType::get(framed, node.type(0).getElementType());
  auto part = [&](int64_t i) -> Value {
    Value flat =
        node.reshape(node.sliceDim(node.in(0), 2, i, i + 1), {batch, size});
    Value frame = GatherOp::create(node.b, node.loc, type, flat, index, 1);
    return node.has(2)
               ? node.binary<MulOp>(frame, node.alongDim(node.in(2), framed, 2))
               : frame;
  };
  Signal x = {part(0), node.shape(0)[2] == 2 ? part(1) : Value()};
  bool onesided = node.intAttr("onesided", 1);
  FailureOr<Signal> result = transform(
      node, x, length, onesided ? length / 2 + 1 : length, /*inverse=*/false);
  if (failed(result))
    return failure();
  return node.result(merge(node, *result, 2));
}

/// Returns the weights of triangular filters, evenly spaced in mel, for the
/// frequencies of a transform.
LogicalResult importMelWeightMatrix(Node &node) {
  const char *names[] = {"the number of bins", "the length", "the sample rate",
                         "the lower edge", "the upper edge"};
  double given[5];
  for (size_t i = 0; i < 5; ++i) {
    FailureOr<double> value = node.constantScalar(i, names[i]);
    if (failed(value))
      return failure();
    given[i] = *value;
  }
  auto [bins, length, rate, lower, upper] =
      std::tuple(static_cast<int64_t>(given[0]), static_cast<int64_t>(given[1]),
                 given[2], given[3], given[4]);
  int64_t rows = length / 2 + 1;
  auto dtype = static_cast<int32_t>(
      node.intAttr("output_datatype", onnx::TensorProto::FLOAT));
  Type element = elementType(node.b.getContext(), dtype);
  if (!isa_and_nonnull<FloatType>(element))
    return node.unsupported("element type " + dataTypeName(dtype));
  if (bins < 1 || length < 1 || rate <= 0 || lower < 0 || upper < lower ||
      bins > kMaxMatrix / rows)
    return node.malformed("sizes or frequencies");
  auto toMel = [](double hertz) {
    return 2595.0 * std::log1p(hertz / 700.0) / std::log(10.0);
  };
  double low = toMel(lower);
  double step = (toMel(upper) - low) / static_cast<double>(bins + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bins + 2; ++i) {
    double mel = static_cast<double>(i) * step + low;
    double hertz = 700.0 * std::expm1(mel / 2595.0 * std::log(10.0));
    edges.push_back(static_cast<int64_t>(
        std::floor(static_cast<double>(length + 1) * hertz / rate)));
  }
  return node.result(matrix(node, rows, bins, element, [&](auto j, auto i) {
    int64_t left = edges[i], center = edges[i + 1], right = edges[i + 2];
    if (j >= center && j < right)
      return static_cast<double>(right - j) /
             static_cast<double>(right - center);
    if (left == center)
      return j == center ? 1.0 : 0.0;
    return j >= left && j <= center ? static_cast<double>(j - left) /
                                          static_cast<double>(center - left)
                                    : 0.0;
  }));
}

} // namespace

void onnx_import::registerFourier(Registry &registry) {
  registry.add("DFT", importDFT);
  registry.add("STFT", importSTFT);
  registry.add("MelWeightMatrix", importMelWeightMatrix);
}
