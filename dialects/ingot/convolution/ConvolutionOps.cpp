// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Verification of convolutions and pools; constraints are those of
// docs/spec/convolution.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/convolution/WindowLayout.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/support/Verification.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::detail;

namespace {
/// The window attributes of an op for windows of size `kernel`.
struct Windows {
  ArrayRef<int64_t> kernel, strides, dilations, padLow, padHigh;
  WindowLayout layout;

  ArrayRef<int64_t> sizes(RankedTensorType data) const {
    return layout.spatial(data.getShape());
  }
  int64_t channels(RankedTensorType data) const {
    return data.getDimSize(layout.channelDim(data.getRank()));
  }
};
} // namespace

template <typename Op>
static Windows windowsOf(Op op, ArrayRef<int64_t> kernel) {
  return {kernel,         op.getStrides(), op.getDilations(),
          op.getPadLow(), op.getPadHigh(), {op.getChannelsLast()}};
}

/// C1 to C3: the entries make sense; large ones would overflow offsets.
static LogicalResult checkWindows(Fail fail, const Windows &windows,
                                  RankedTensorType input) {
  int64_t spatial = input.getRank() - 2;
  if (spatial < 1 || spatial > 3)
    return fail("C1: the input must have rank 3 to 5, got " +
                Twine(input.getRank()));
  if (failed(checkSize(fail, "C1", input.getShape())))
    return failure();
  struct Entry {
    StringRef name;
    ArrayRef<int64_t> values;
    int64_t least;
  };
  for (const Entry &entry : {Entry{"kernel", windows.kernel, 1},
                             Entry{"strides", windows.strides, 1},
                             Entry{"dilations", windows.dilations, 1},
                             Entry{"pad_low", windows.padLow, 0},
                             Entry{"pad_high", windows.padHigh, 0}}) {
    if (failed(checkEntries(fail, "C2", entry.name, entry.values, spatial,
                            entry.least)))
      return failure();
    if (llvm::any_of(entry.values, [](int64_t v) { return v > INT32_MAX; }))
      return fail("C2: " + entry.name + " must stay below 2^31, got " +
                  listText(entry.values));
  }
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t extent = windows.dilations[i] * (windows.kernel[i] - 1) + 1;
    int64_t padded =
        windows.sizes(input)[i] + windows.padLow[i] + windows.padHigh[i];
    if (extent > padded)
      return fail("C3: the window must fit into the padded input along spatial "
                  "dimension " +
                  Twine(i) + ", window " + Twine(extent) + ", padded input " +
                  Twine(padded));
  }
  return success();
}

/// Returns the shape of the result of `channels` windows over `input`.
static SmallVector<int64_t> windowedShape(const Windows &windows,
                                          RankedTensorType input,
                                          int64_t channels) {
  SmallVector<int64_t> counts;
  for (int64_t i = 0, e = input.getRank() - 2; i < e; ++i) {
    int64_t extent = windows.dilations[i] * (windows.kernel[i] - 1) + 1;
    int64_t padded =
        windows.sizes(input)[i] + windows.padLow[i] + windows.padHigh[i];
    counts.push_back((padded - extent) / windows.strides[i] + 1);
  }
  return windows.layout.join(input.getDimSize(0), channels, counts);
}

//===----------------------------------------------------------------------===//
// Convolutions: the constraints that relate input, filter and output
//===----------------------------------------------------------------------===//

/// The names of the three tensors in messages.
struct ConvolutionNames {
  StringRef input, filter, output;
};

template <typename Op>
static LogicalResult checkConvolution(Op op, Value inputValue,
                                      Value filterValue, Value outputValue,
                                      ConvolutionNames names) {
  auto fail = [&](const Twine &message) { return op.emitOpError(message); };
  RankedTensorType input = tensorType(inputValue);
  RankedTensorType filter = tensorType(filterValue);
  RankedTensorType output = tensorType(outputValue);
  if (failed(checkElement(fail, "C4", names.filter, input.getElementType(),
                          filter.getElementType())) ||
      failed(checkElement(fail, "C4", names.output, input.getElementType(),
                          output.getElementType())))
    return failure();
  if (filter.getRank() != input.getRank())
    return fail("C5: " + names.filter + " must have the rank of " +
                names.input + ", want " + Twine(input.getRank()) + ", got " +
                Twine(filter.getRank()));
  WindowLayout filterLayout{op.getFilterChannelsLast()};
  ArrayRef<int64_t> kernel;
  if (filter.getRank() > 2)
    kernel = filterLayout.spatial(filter.getShape());
  Windows windows = windowsOf(op, kernel);
  if (failed(checkWindows(fail, windows, input)))
    return failure();

  int64_t groups = op.getGroups();
  int64_t channels = windows.channels(input), filters = filter.getDimSize(0);
  if (groups < 1 || channels % groups != 0 || filters % groups != 0)
    return fail("C6: groups must divide the " + Twine(channels) +
                " channels and the " + Twine(filters) + " filters, got " +
                Twine(groups));
  int64_t perGroup =
      filter.getDimSize(filterLayout.channelDim(filter.getRank()));
  if (perGroup != channels / groups)
    return fail("C7: " + names.filter + " must have channels / groups = " +
                Twine(channels / groups) + " channels, got " + Twine(perGroup));
  return checkShape(fail, "C8", names.output,
                    windowedShape(windows, input, filters), output.getShape());
}

LogicalResult ConvOp::verify() {
  return checkConvolution(*this, getInput(), getFilter(), getResult(),
                          {"the input", "the filter", "the result"});
}

LogicalResult ConvInputGradOp::verify() {
  return checkConvolution(*this, getResult(), getFilter(), getOutputGrad(),
                          {"the result", "the filter", "output_grad"});
}

LogicalResult ConvFilterGradOp::verify() {
  return checkConvolution(*this, getInput(), getResult(), getOutputGrad(),
                          {"the input", "the result", "output_grad"});
}

/// C10: scale and shift have one element per channel of the input.
template <typename Op> static LogicalResult checkScale(Op op) {
  RankedTensorType input = tensorType(op.getInput());
  int64_t channels = input.getDimSize(
      WindowLayout{op.getChannelsLast()}.channelDim(input.getRank()));
  auto fail = [&](const Twine &message) { return op.emitOpError(message); };
  auto want = RankedTensorType::get({channels}, input.getElementType());
  if (failed(checkType(fail, "C10", "scale", want, op.getScale().getType())))
    return failure();
  return checkType(fail, "C10", "shift", want, op.getShift().getType());
}

LogicalResult ConvStatisticsOp::verify() {
  if (failed(checkConvolution(*this, getInput(), getFilter(), getResult(),
                              {"the input", "the filter", "the result"})))
    return failure();
  auto fail = [&](const Twine &message) { return emitOpError(message); };
  auto want = RankedTensorType::get({tensorType(getFilter()).getDimSize(0)},
                                    Float32Type::get(getContext()));
  for (auto [name, sums] :
       {std::pair("sums", getSums()), std::pair("squares", getSquares())})
    if (failed(checkType(fail, "C9", name, want, sums.getType())))
      return failure();
  if (!getScale() != !getShift())
    return emitOpError("C10: scale and shift must be given together");
  return getScale() ? checkScale(*this) : success();
}

LogicalResult ConvScaledFilterGradOp::verify() {
  if (failed(checkConvolution(*this, getInput(), getResult(), getOutputGrad(),
                              {"the input", "the result", "output_grad"})))
    return failure();
  return checkScale(*this);
}

//===----------------------------------------------------------------------===//
// Pooling: the constraints that relate input and output
//===----------------------------------------------------------------------===//

template <typename Op>
static LogicalResult checkPool(Op op, Value inputValue, Value outputValue,
                               StringRef outputName) {
  auto fail = [&](const Twine &message) { return op.emitOpError(message); };
  RankedTensorType input = tensorType(inputValue);
  RankedTensorType output = tensorType(outputValue);
  Windows windows = windowsOf(op, op.getKernel());
  if (failed(checkElement(fail, "C4", outputName, input.getElementType(),
                          output.getElementType())) ||
      failed(checkWindows(fail, windows, input)))
    return failure();
  return checkShape(fail, "C5", outputName,
                    windowedShape(windows, input, windows.channels(input)),
                    output.getShape());
}

/// C6: no window lies only in padding, so that each has a largest element.
static LogicalResult checkTouched(Fail fail, const Windows &windows,
                                  RankedTensorType input,
                                  RankedTensorType output) {
  for (int64_t i = 0, e = input.getRank() - 2; i < e; ++i) {
    int64_t size = windows.sizes(input)[i], dilation = windows.dilations[i];
    auto touches = [&](int64_t window) {
      int64_t begin = window * windows.strides[i] - windows.padLow[i];
      int64_t skipped = begin < 0 ? llvm::divideCeil(-begin, dilation) : 0;
      return skipped < windows.kernel[i] && begin + skipped * dilation < size;
    };
    // Only windows that begin in padding may miss the input.
    int64_t count = windows.sizes(output)[i];
    int64_t inside = llvm::divideCeil(windows.padLow[i], windows.strides[i]);
    bool ok = count == 0 || touches(count - 1);
    for (int64_t window = 0; ok && window < std::min(inside, count); ++window)
      ok = touches(window);
    if (!ok)
      return fail("C6: every window must touch the input, one along spatial "
                  "dimension " +
                  Twine(i) + " does not");
  }
  return success();
}

static LogicalResult checkIndices(Fail fail, Value indices, Value values) {
  RankedTensorType want = tensorType(values);
  return checkType(fail, "C7", "indices",
                   withElement(want, IntegerType::get(want.getContext(), 64)),
                   indices.getType());
}

LogicalResult MaxPoolOp::verify() {
  auto fail = [&](const Twine &message) { return emitOpError(message); };
  if (failed(checkPool(*this, getInput(), getResult(), "the result")) ||
      failed(checkTouched(fail, windowsOf(*this, getKernel()),
                          tensorType(getInput()), tensorType(getResult()))))
    return failure();
  return checkIndices(fail, getIndices(), getResult());
}

LogicalResult MaxPoolGradOp::verify() {
  auto fail = [&](const Twine &message) { return emitOpError(message); };
  if (failed(checkPool(*this, getResult(), getOutputGrad(), "output_grad")) ||
      failed(checkTouched(fail, windowsOf(*this, getKernel()),
                          tensorType(getResult()),
                          tensorType(getOutputGrad()))))
    return failure();
  return checkIndices(fail, getIndices(), getOutputGrad());
}

LogicalResult SumPoolOp::verify() {
  return checkPool(*this, getInput(), getResult(), "the result");
}

LogicalResult SumPoolGradOp::verify() {
  return checkPool(*this, getResult(), getOutputGrad(), "output_grad");
}

//===----------------------------------------------------------------------===//
// Permutation
//===----------------------------------------------------------------------===//

template <typename Op>
static bool makeChannelsLast(Op op, ArrayRef<int64_t> order) {
  if (op.getChannelsLast() ||
      order != ArrayRef(WindowLayout::channelsLastOrder(order.size())))
    return false;
  op.setChannelsLast(true);
  return true;
}

template <typename Op> static bool makeFilterChannelsLast(Op op) {
  if (op.getFilterChannelsLast())
    return false;
  op.setFilterChannelsLast(true);
  return true;
}

#define INGOT_WINDOWED(OP, CARRIES_OPERAND, CARRIES_RESULTS)                   \
  bool OP::permute(ArrayRef<int64_t> order) {                                  \
    return makeChannelsLast(*this, order);                                     \
  }                                                                            \
  bool OP::carriesOperand([[maybe_unused]] unsigned operand) {                 \
    return CARRIES_OPERAND;                                                    \
  }                                                                            \
  bool OP::carriesResults() { return CARRIES_RESULTS; }

INGOT_WINDOWED(ConvOp, operand == 0, true)
INGOT_WINDOWED(ConvInputGradOp, operand == 0, true)
INGOT_WINDOWED(ConvFilterGradOp, true, false)
INGOT_WINDOWED(MaxPoolOp, true, true)
INGOT_WINDOWED(MaxPoolGradOp, true, true)
INGOT_WINDOWED(SumPoolOp, true, true)
INGOT_WINDOWED(SumPoolGradOp, true, true)

bool ConvOp::permuteOthers() { return makeFilterChannelsLast(*this); }
bool ConvInputGradOp::permuteOthers() { return makeFilterChannelsLast(*this); }
bool ConvFilterGradOp::permuteOthers() { return makeFilterChannelsLast(*this); }
