// SPDX-License-Identifier: Apache-2.0

// Convolutions, and the window attributes that pooling shares.

#include "frontends/onnx/ops/nn/Windows.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

FailureOr<Window> onnx_import::readWindow(Node &node, ArrayRef<int64_t> spatial,
                                          ArrayRef<int64_t> kernel) {
  size_t rank = spatial.size();
  Window window;
  window.kernel = node.intsAttr("kernel_shape").value_or(Shape(kernel));
  window.strides = node.intsAttr("strides").value_or(Shape(rank, 1));
  window.dilations = node.intsAttr("dilations").value_or(Shape(rank, 1));
  Shape pads = node.intsAttr("pads").value_or(Shape(2 * rank, 0));
  if (!kernel.empty() && !llvm::equal(window.kernel, kernel))
    return node.malformed("kernel_shape " + shapeText(window.kernel) +
                          " of weights with " + shapeText(kernel));
  if (window.kernel.size() != rank || window.strides.size() != rank ||
      window.dilations.size() != rank || pads.size() != 2 * rank)
    return node.malformed("window attributes do not fit " + Twine(rank) +
                          " spatial dimensions");
  constexpr int64_t kLimit = 1 << 20;
  auto outside = [](int64_t low) {
    return [low](int64_t value) { return value < low || value > kLimit; };
  };
  if (llvm::any_of(window.kernel, outside(1)) ||
      llvm::any_of(window.strides, outside(1)) ||
      llvm::any_of(window.dilations, outside(1)) ||
      llvm::any_of(pads, outside(0)))
    return node.malformed("a window attribute is out of range");
  window.padLow.assign(pads.begin(), pads.begin() + rank);
  window.padHigh.assign(pads.begin() + rank, pads.end());

  std::string automatic = node.stringAttr("auto_pad", "NOTSET");
  if (automatic == "VALID") {
    window.padLow.assign(rank, 0);
    window.padHigh.assign(rank, 0);
  } else if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    for (size_t i = 0; i < rank; ++i) {
      int64_t output = (spatial[i] + window.strides[i] - 1) / window.strides[i];
      int64_t total = std::max<int64_t>(
          (output - 1) * window.strides[i] + window.extent(i) - spatial[i], 0);
      int64_t less = total / 2, more = total - less;
      window.padLow[i] = automatic == "SAME_UPPER" ? less : more;
      window.padHigh[i] = automatic == "SAME_UPPER" ? more : less;
    }
  } else if (automatic != "NOTSET") {
    return node.malformed("auto_pad is '" + automatic + "'");
  }
  return window;
}

/// Fails unless the window fits into the padded input.
static LogicalResult checkFits(Node &node, const Window &window,
                               ArrayRef<int64_t> spatial) {
  for (size_t i = 0; i < spatial.size(); ++i)
    if (spatial[i] + window.padLow[i] + window.padHigh[i] < window.extent(i))
      return node.malformed("the kernel " + shapeText(window.kernel) +
                            " is larger than the padded input " +
                            shapeText(spatial));
  return success();
}

/// Adds one value per channel; a constant zero adds nothing.
static LogicalResult addBias(Node &node, Value &result, int64_t channels) {
  if (!node.has(2))
    return success();
  if (node.rank(2) != 1 || node.shape(2)[0] != channels)
    return node.malformed("bias " + shapeText(node.shape(2)) + " for " +
                          Twine(channels) + " channels");
  if (tensorType(node.in(2)).getElementType() !=
      tensorType(result).getElementType())
    return node.malformed("a bias of another type than the result");
  DenseElementsAttr constant;
  if (matchPattern(node.in(2), m_Constant(&constant)) && constant.isSplat() &&
      constant.getSplatValue<APFloat>().isZero())
    return success();
  result = node.binary<AddOp>(
      result, node.alongDim(node.in(2), tensorType(result).getShape(), 1));
  return success();
}

/// Checks the data and weights of a convolution over 1 to 3 spatial dimensions.
static LogicalResult checkOperands(Node &node, Value x, Value weights) {
  ArrayRef<int64_t> shape = tensorType(x).getShape();
  ArrayRef<int64_t> filter = tensorType(weights).getShape();
  if (shape.size() < 3 || shape.size() > 5)
    return node.unsupported("an input of rank " + Twine(shape.size()));
  if (filter.size() != shape.size())
    return node.malformed("weights " + shapeText(filter) + " for input " +
                          shapeText(shape));
  return success();
}

FailureOr<Value> onnx_import::convolve(Node &node, Value input, Value filter) {
  if (failed(checkOperands(node, input, filter)))
    return failure();
  ArrayRef<int64_t> x = tensorType(input).getShape();
  ArrayRef<int64_t> w = tensorType(filter).getShape();
  int64_t groups = node.intAttr("group", 1);
  if (groups < 1 || x[1] != w[1] * groups || w[0] % groups)
    return node.malformed("weights " + shapeText(w) + " in " + Twine(groups) +
                          " groups for input " + shapeText(x));
  FailureOr<Window> window = readWindow(node, x.drop_front(2), w.drop_front(2));
  if (failed(window) || failed(checkFits(node, *window, x.drop_front(2))))
    return failure();
  Shape shape = {x[0], w[0]};
  for (size_t i = 0; i + 2 < x.size(); ++i)
    shape.push_back(window->outputSize(i, x[i + 2]));
  auto type = RankedTensorType::get(shape, tensorType(input).getElementType());
  return Value(ConvOp::create(node.b, node.loc, type, input, filter,
                              window->strides, window->dilations,
                              window->padLow, window->padHigh, groups));
}

static LogicalResult importConv(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  FailureOr<Value> result = convolve(node, node.in(0), node.in(1));
  if (failed(result) || failed(addBias(node, *result, node.shape(1)[0])))
    return failure();
  return node.result(*result);
}

/// Imports ConvTranspose: the gradient of a convolution that would compute the
/// input from the output.
static LogicalResult importConvTranspose(Node &node) {
  if (failed(node.requireFloat(0)) ||
      failed(checkOperands(node, node.in(0), node.in(1))))
    return failure();
  ArrayRef<int64_t> x = node.shape(0), w = node.shape(1);
  int64_t groups = node.intAttr("group", 1);
  if (groups < 1 || x[1] != w[0] || w[0] % groups)
    return node.malformed("weights " + shapeText(w) + " in " + Twine(groups) +
                          " groups for input " + shapeText(x));
  size_t rank = x.size() - 2;
  Shape extra = node.intsAttr("output_padding").value_or(Shape(rank, 0));
  std::optional<Shape> wanted = node.intsAttr("output_shape");
  std::string automatic = node.stringAttr("auto_pad", "NOTSET");
  if (extra.size() != rank || (wanted && wanted->size() != rank))
    return node.malformed("output_padding or output_shape does not fit " +
                          Twine(rank) + " spatial dimensions");
  FailureOr<Window> window = readWindow(node, x.drop_front(2), w.drop_front(2));
  if (failed(window))
    return failure();
  bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  Shape shape = {x[0], w[1] * groups}, zeros(rank + 2, 0);
  for (size_t i = 0; i < rank; ++i) {
    int64_t unpadded =
        window->strides[i] * (x[i + 2] - 1) + extra[i] + window->extent(i);
    if (wanted || same) {
      // The padding is the difference of the output's sizes.
      int64_t size = wanted ? (*wanted)[i] : x[i + 2] * window->strides[i];
      int64_t total = std::max<int64_t>(unpadded - size, 0);
      int64_t half = total / 2;
      bool moreHigh = automatic == "SAME_UPPER";
      window->padLow[i] = moreHigh ? half : total - half;
      window->padHigh[i] = total - window->padLow[i];
    }
    int64_t size = unpadded - window->padLow[i] - window->padHigh[i];
    if (wanted)
      size = (*wanted)[i];
    if (size < 1)
      return node.malformed("the output is empty");
    int64_t reached = unpadded - extra[i];
    int64_t beyond = size + window->padLow[i] + window->padHigh[i] - reached;
    if (extra[i] < 0 || beyond < 0)
      return node.malformed("output_padding or output_shape");
    // A convolution that reads as many elements more than the window reaches as
    // a stride has would have a larger result. What lies in the padding is cut
    // off less; the rest is zero.
    int64_t most = window->strides[i] - 1;
    int64_t kept = std::clamp<int64_t>(beyond - most, 0, window->padHigh[i]);
    window->padHigh[i] -= kept;
    zeros[i + 2] = std::max<int64_t>(beyond - kept - most, 0);
    if (zeros[i + 2] >= size)
      return node.unsupported("output_padding that is all of the output");
    shape.push_back(size - zeros[i + 2]);
  }
  auto type = RankedTensorType::get(shape, node.type(0).getElementType());
  Value result = ConvInputGradOp::create(
      node.b, node.loc, type, node.in(0), node.in(1), window->strides,
      window->dilations, window->padLow, window->padHigh, groups);
  if (llvm::any_of(zeros, [](int64_t n) { return n != 0; }))
    result = node.pad(result, Shape(rank + 2, 0), zeros, 0.0);
  if (failed(addBias(node, result, shape[1])))
    return failure();
  return node.result(result);
}

void onnx_import::registerConvolution(Registry &registry) {
  registry.add("Conv", importConv);
  registry.add("ConvTranspose", importConvTranspose);
}
