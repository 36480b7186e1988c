// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Loops of convolution and pooling, and their cost. An output position o and a
// kernel position k correspond to the input position o * stride + k * dilation
// - pad_low, per spatial dimension.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/builders/Scalars.h"
#include "dialects/ingot/convolution/WindowLayout.h"

using namespace mlir;
using namespace ingot;

using Elements = SmallVector<Value>;

namespace {

/// The relation of output, kernel and input positions.
struct Window {
  ArrayRef<int64_t> strides, dilations, padLow;
  WindowLayout layout;

  template <typename Op>
  explicit Window(Op op)
      : strides(op.getStrides()), dilations(op.getDilations()),
        padLow(op.getPadLow()), layout{op.getChannelsLast()} {}

  size_t rank() const { return strides.size(); }

  ArrayRef<int64_t> spatial(Value tensor) const {
    return layout.spatial(tensorType(tensor).getShape());
  }
  /// Returns the channel's and the spatial part of an element's index.
  Value channel(ValueRange indices) const {
    return indices[layout.channelDim(indices.size())];
  }
  ValueRange spatial(ValueRange indices) const {
    return layout.spatial(indices);
  }
  /// Returns the index of an element from its parts.
  Elements at(Value batch, Value channel, ValueRange spatial) const {
    return layout.join(batch, channel, spatial);
  }

  /// Returns the input position for `out` and `kernel`; `inside` is combined
  /// with the test that it is not in the padding, where it may be.
  Elements inputAt(const ScalarEmitter &e, ValueRange out, ValueRange kernel,
                   ArrayRef<int64_t> inSizes, ArrayRef<int64_t> kernelSizes,
                   ArrayRef<int64_t> outSizes, Value &inside) const {
    Elements at;
    for (size_t d = 0; d < rank(); ++d) {
      Value i =
          e.add(e.mul(out[d], strides[d]), e.mul(kernel[d], dilations[d]));
      i = e.add(i, -padLow[d]);
      int64_t last = (outSizes[d] - 1) * strides[d] +
                     (kernelSizes[d] - 1) * dilations[d] - padLow[d];
      if (padLow[d] > 0 || last >= inSizes[d])
        inside = e.logicalAnd(inside, e.inRange(i, inSizes[d]));
      at.push_back(i);
    }
    return at;
  }

  /// Returns the output position whose window covers input position `in` at
  /// `kernel`; `inside` is combined with the test that there is one.
  Elements outputAt(const ScalarEmitter &e, ValueRange in, ValueRange kernel,
                    ArrayRef<int64_t> outSizes, Value &inside) const {
    Elements at;
    for (size_t d = 0; d < rank(); ++d) {
      Value o = e.sub(e.add(in[d], padLow[d]), e.mul(kernel[d], dilations[d]));
      if (strides[d] != 1) {
        inside = e.logicalAnd(
            inside, e.compare(arith::CmpIPredicate::sge, o, e.index(0)));
        inside =
            e.logicalAnd(inside, e.compare(arith::CmpIPredicate::eq,
                                           e.rem(o, strides[d]), e.index(0)));
        o = e.div(o, strides[d]);
      }
      inside = e.logicalAnd(inside, e.inRange(o, outSizes[d]));
      at.push_back(o);
    }
    return at;
  }
};

SmallVector<int64_t> concatSizes(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  SmallVector<int64_t> sizes(a);
  llvm::append_range(sizes, b);
  return sizes;
}

/// The components of a filter's shape.
struct FilterShape {
  template <typename Op>
  FilterShape(Op op, Value filter)
      : layout{op.getFilterChannelsLast()},
        shape(tensorType(filter).getShape()),
        outPerGroup(shape[0] / op.getGroups()),
        inPerGroup(shape[layout.channelDim(shape.size())]),
        kernel(layout.spatial(shape)) {}

  Elements at(Value out, Value in, ValueRange taps) const {
    return layout.join(out, in, taps);
  }

  WindowLayout layout;
  ArrayRef<int64_t> shape;
  int64_t outPerGroup, inPerGroup;
  ArrayRef<int64_t> kernel;
};

/// Sums terms over a loop nest; 16-bit elements are accumulated in f32.
/// `term(at)` returns the test that there is a term (null: always) and a
/// function that emits it.
template <typename Term>
Value sumWindow(const ScalarEmitter &e, Type element, ArrayRef<int64_t> sizes,
                Term term) {
  Type type = accumulatorType(element);
  Elements sum = e.loops(
      sizes, e.constant(type, 0),
      [&](const ScalarEmitter &, ValueRange at,
          ValueRange carried) -> Elements {
        auto [inside, value] = term(at);
        auto accumulate = [&]() -> Value {
          return arith::AddFOp::create(e.b, e.loc, carried[0],
                                       e.convertFloat(value(), type));
        };
        if (!inside)
          return {accumulate()};
        return {e.branch(inside, type, accumulate, [&] { return carried[0]; })};
      });
  return e.convertFloat(sum[0], element);
}

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

/// Multiply-adds of a convolution: every output element sums a window of the
/// channels of its group.
int64_t convFlops(Value output, Value filter) {
  return 2 * tensorType(output).getNumElements() *
         product(tensorType(filter).getShape().drop_front());
}

/// A convolution with a filter of one tap for each pixel is a matmul of pixels
/// and channels, as cpu::isPointwise states it once the layout is chosen.
template <typename Op> WorkKind getConvolutionWork(Op op, Value filter) {
  auto areAll = [](ArrayRef<int64_t> values, int64_t expected) {
    return llvm::all_of(values, [&](int64_t v) { return v == expected; });
  };
  ArrayRef<int64_t> taps = WindowLayout{op.getFilterChannelsLast()}.spatial(
      tensorType(filter).getShape());
  bool isMatmul = op.getGroups() == 1 && areAll(taps, 1) &&
                  areAll(op.getStrides(), 1) && areAll(op.getPadLow(), 0) &&
                  areAll(op.getPadHigh(), 0);
  return isMatmul ? WorkKind::Matmul : WorkKind::Convolution;
}

Value multiply(const ScalarEmitter &e, Value a, Value b, Type element) {
  Type type = accumulatorType(element);
  return arith::MulFOp::create(e.b, e.loc, e.convertFloat(a, type),
                               e.convertFloat(b, type));
}

} // namespace

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

int64_t ConvOp::getFlops() { return convFlops(getResult(), getFilter()); }
int64_t ConvInputGradOp::getFlops() {
  return convFlops(getOutputGrad(), getFilter());
}
int64_t ConvFilterGradOp::getFlops() {
  return convFlops(getOutputGrad(), getResult());
}

WorkKind ConvOp::getWorkKind() {
  return getConvolutionWork(*this, getFilter());
}
WorkKind ConvInputGradOp::getWorkKind() {
  return getConvolutionWork(*this, getFilter());
}
WorkKind ConvFilterGradOp::getWorkKind() {
  return getConvolutionWork(*this, getResult());
}

int64_t ConvStatisticsOp::getFlops() {
  return convFlops(getResult(), getFilter());
}
int64_t ConvScaledFilterGradOp::getFlops() {
  return convFlops(getOutputGrad(), getResult());
}

Precision ConvStatisticsOp::getPrecisionRole() { return Precision::Low; }
Precision ConvScaledFilterGradOp::getPrecisionRole() { return Precision::Low; }
bool ConvStatisticsOp::isStatistic(Value value) {
  return value == getSums() || value == getSquares();
}
bool ConvScaledFilterGradOp::isStatistic(Value) { return false; }

Precision ConvOp::getPrecisionRole() { return Precision::Low; }
Precision ConvInputGradOp::getPrecisionRole() { return Precision::Low; }
Precision ConvFilterGradOp::getPrecisionRole() { return Precision::Low; }

Elements ConvOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                              ElementSource load) {
  ScalarEmitter e{b, loc};
  Window window(*this);
  FilterShape filter(*this, getFilter());
  Type element = tensorType(getResult()).getElementType();
  Value firstChannel = e.mul(e.div(window.channel(indices), filter.outPerGroup),
                             filter.inPerGroup);
  SmallVector<int64_t> sizes = concatSizes(filter.inPerGroup, filter.kernel);
  return {sumWindow(e, element, sizes, [&](ValueRange at) {
    Value inside;
    Elements in = window.inputAt(e, window.spatial(indices), at.drop_front(),
                                 window.spatial(getInput()), filter.kernel,
                                 window.spatial(getResult()), inside);
    Value channel = e.add(firstChannel, at[0]);
    auto value = [&, in, channel, at]() -> Value {
      return multiply(
          e, load(0, window.at(indices[0], channel, in)),
          load(1, filter.at(window.channel(indices), at[0], at.drop_front())),
          element);
    };
    return std::pair(inside, value);
  })};
}

Elements ConvInputGradOp::emitElements(OpBuilder &b, Location loc,
                                       ValueRange indices, ElementSource load) {
  ScalarEmitter e{b, loc};
  Window window(*this);
  FilterShape filter(*this, getFilter());
  Type element = tensorType(getResult()).getElementType();
  Value firstOut = e.mul(e.div(window.channel(indices), filter.inPerGroup),
                         filter.outPerGroup);
  Value inGroup = e.rem(window.channel(indices), filter.inPerGroup);
  SmallVector<int64_t> sizes = concatSizes(filter.outPerGroup, filter.kernel);
  return {sumWindow(e, element, sizes, [&](ValueRange at) {
    Value inside;
    Elements out = window.outputAt(e, window.spatial(indices), at.drop_front(),
                                   window.spatial(getOutputGrad()), inside);
    Value channel = e.add(firstOut, at[0]);
    auto value = [&, out, channel, at]() -> Value {
      return multiply(e, load(0, window.at(indices[0], channel, out)),
                      load(1, filter.at(channel, inGroup, at.drop_front())),
                      element);
    };
    return std::pair(inside, value);
  })};
}

Elements ConvFilterGradOp::emitElements(OpBuilder &b, Location loc,
                                        ValueRange indices,
                                        ElementSource load) {
  ScalarEmitter e{b, loc};
  Window window(*this);
  FilterShape filter(*this, getResult());
  Type element = tensorType(getResult()).getElementType();
  Value channel =
      e.add(e.mul(e.div(indices[0], filter.outPerGroup), filter.inPerGroup),
            indices[filter.layout.channelDim(indices.size())]);
  SmallVector<int64_t> sizes = concatSizes(tensorType(getInput()).getDimSize(0),
                                           window.spatial(getOutputGrad()));
  return {sumWindow(e, element, sizes, [&](ValueRange at) {
    Value inside;
    Elements in =
        window.inputAt(e, at.drop_front(), filter.layout.spatial(indices),
                       window.spatial(getInput()), filter.kernel,
                       window.spatial(getOutputGrad()), inside);
    auto value = [&, in, at]() -> Value {
      return multiply(e, load(0, window.at(at[0], indices[0], at.drop_front())),
                      load(1, window.at(at[0], channel, in)), element);
    };
    return std::pair(inside, value);
  })};
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

int64_t MaxPoolOp::getFlops() {
  return tensorType(getResult()).getNumElements() * product(getKernel());
}
int64_t MaxPoolGradOp::getFlops() {
  return tensorType(getOutputGrad()).getNumElements();
}
int64_t SumPoolOp::getFlops() {
  return tensorType(getResult()).getNumElements() * product(getKernel());
}
int64_t SumPoolGradOp::getFlops() {
  return tensorType(getOutputGrad()).getNumElements() * product(getKernel());
}

Elements MaxPoolOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                                 ElementSource load) {
  ScalarEmitter e{b, loc};
  Window window(*this);
  ArrayRef<int64_t> in = window.spatial(getInput());
  auto element = cast<FloatType>(tensorType(getResult()).getElementType());
  Value lowest = arith::ConstantOp::create(
      b, loc,
      b.getFloatAttr(element, APFloat::getInf(element.getFloatSemantics(),
                                              /*Negative=*/true)));
  // No position yet: the first element inside wins even if it is -infinity.
  Elements best = e.loops(
      getKernel(), {lowest, e.index(-1)},
      [&](const ScalarEmitter &, ValueRange k, ValueRange carried) -> Elements {
        Value inside;
        Elements at =
            window.inputAt(e, window.spatial(indices), k, in, getKernel(),
                           window.spatial(getResult()), inside);
        auto read = [&] {
          return load(0, window.at(indices[0], window.channel(indices), at));
        };
        Value x = inside
                      ? e.branch(inside, element, read, [&] { return lowest; })
                      : read();
        Value greater = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UGT,
                                              x, carried[0]);
        Value ordered = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD,
                                              carried[0], carried[0]);
        Value none =
            e.compare(arith::CmpIPredicate::slt, carried[1], e.index(0));
        Value wins =
            arith::OrIOp::create(b, loc, none, e.logicalAnd(greater, ordered));
        wins = e.logicalAnd(inside, wins);
        Value here = e.linearize(at, in);
        return {arith::SelectOp::create(b, loc, wins, x, carried[0]),
                arith::SelectOp::create(b, loc, wins, here, carried[1])};
      });
  return {best[0],
          arith::IndexCastOp::create(
              b, loc, codeType(tensorType(getIndices()).getElementType()),
              best[1])};
}

Elements MaxPoolGradOp::emitElements(OpBuilder &b, Location loc,
                                     ValueRange indices, ElementSource load) {
  ScalarEmitter e{b, loc};
  Window window(*this);
  Type element = tensorType(getResult()).getElementType();
  Value here =
      e.linearize(window.spatial(indices), window.spatial(getResult()));
  return {sumWindow(e, element, getKernel(), [&](ValueRange k) {
    Value inside;
    Elements out = window.outputAt(e, window.spatial(indices), k,
                                   window.spatial(getOutputGrad()), inside);
    auto value = [&, out]() -> Value {
      Elements at = window.at(indices[0], window.channel(indices), out);
      Value winner = load(1, at);
      winner = arith::IndexCastOp::create(b, loc, b.getIndexType(), winner);
      Value zero = e.constant(element, 0);
      return arith::SelectOp::create(
          b, loc, e.compare(arith::CmpIPredicate::eq, winner, here),
          load(0, at), zero);
    };
    return std::pair(inside, value);
  })};
}

Elements SumPoolOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                                 ElementSource load) {
  ScalarEmitter e{b, loc};
  Window window(*this);
  Type element = tensorType(getResult()).getElementType();
  return {sumWindow(e, element, getKernel(), [&](ValueRange k) {
    Value inside;
    Elements in = window.inputAt(e, window.spatial(indices), k,
                                 window.spatial(getInput()), getKernel(),
                                 window.spatial(getResult()), inside);
    auto value = [&, in]() -> Value {
      return load(0, window.at(indices[0], window.channel(indices), in));
    };
    return std::pair(inside, value);
  })};
}

Elements SumPoolGradOp::emitElements(OpBuilder &b, Location loc,
                                     ValueRange indices, ElementSource load) {
  ScalarEmitter e{b, loc};
  Window window(*this);
  Type element = tensorType(getResult()).getElementType();
  return {sumWindow(e, element, getKernel(), [&](ValueRange k) {
    Value inside;
    Elements out = window.outputAt(e, window.spatial(indices), k,
                                   window.spatial(getOutputGrad()), inside);
    auto value = [&, out]() -> Value {
      return load(0, window.at(indices[0], window.channel(indices), out));
    };
    return std::pair(inside, value);
  })};
}
