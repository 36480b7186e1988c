// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/convolution/WindowLayout.h"
#include "test/random-graphs/catalogue/Catalogue.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::testing;

namespace {
/// A window and sizes of an input that it fits into.
struct Window {
  Shape input, output;
  SmallVector<int64_t> kernel, strides, dilations, low, high;
};
} // namespace

/// With `touching`, no window lies in padding alone.
static Window chooseWindow(Chooser &choose, bool touching) {
  Window w;
  for (int64_t d = 0, e = choose.pick(std::vector<int64_t>{1, 2, 2, 3}); d < e;
       ++d) {
    int64_t kernel = choose.between(1, 3), stride = choose.between(1, 2);
    int64_t dilation = choose.between(1, 2);
    int64_t mostPadding = touching ? (dilation == 1 ? kernel - 1 : 0) : 2;
    int64_t low = choose.between(0, mostPadding);
    int64_t high = choose.between(0, mostPadding);
    int64_t extent = dilation * (kernel - 1) + 1;
    int64_t input = std::max<int64_t>(1, extent - low - high) +
                    choose.between(0, e == 3 ? 1 : 3);
    w.input.push_back(input);
    w.output.push_back((input + low + high - extent) / stride + 1);
    w.kernel.push_back(kernel);
    w.strides.push_back(stride);
    w.dilations.push_back(dilation);
    w.low.push_back(low);
    w.high.push_back(high);
  }
  return w;
}

namespace {
/// The three tensors of a convolution.
struct Convolution {
  Window window;
  int64_t groups;
  WindowLayout layout, filterLayout;
  Shape input, filter, output;

  explicit Convolution(Chooser &choose)
      : window(chooseWindow(choose, /*touching=*/false)),
        groups(choose.between(1, 2)), layout{choose.chance(0.3)},
        filterLayout{choose.chance(0.3)} {
    int64_t batch = choose.between(1, 2);
    int64_t channels = choose.between(1, 2), filters = choose.between(1, 2);
    input = layout.join(batch, groups * channels, window.input);
    filter = filterLayout.join(groups * filters, channels, window.kernel);
    output = layout.join(batch, groups * filters, window.output);
  }
};
} // namespace

template <typename OpT>
static Operation *buildConvolution(Source &s, Shape Convolution::*lhs,
                                   Shape Convolution::*rhs,
                                   Shape Convolution::*result) {
  Convolution c(s.choose);
  Value a = s.real(c.*lhs), b = s.real(c.*rhs);
  return OpT::create(s.builder, s.loc(), s.realType(c.*result), a, b,
                     c.window.strides, c.window.dilations, c.window.low,
                     c.window.high, c.groups, c.layout.channelsLast,
                     c.filterLayout.channelsLast);
}

namespace {
/// The two tensors of a pool.
struct Pool {
  Window window;
  WindowLayout layout;
  Shape input, output;

  Pool(Chooser &choose, bool touching)
      : window(chooseWindow(choose, touching)), layout{choose.chance(0.3)} {
    Shape outer = choose.shape(2, 2);
    input = layout.join(outer[0], outer[1], window.input);
    output = layout.join(outer[0], outer[1], window.output);
  }
};
} // namespace

static Operation *buildMaxPool(Source &s) {
  Pool p(s.choose, /*touching=*/true);
  RankedTensorType type = s.realType(p.output);
  Value x = s.real(p.input);
  return MaxPoolOp::create(
      s.builder, s.loc(), type, withElement(type, s.builder.getI64Type()), x,
      p.window.kernel, p.window.strides, p.window.dilations, p.window.low,
      p.window.high, p.layout.channelsLast);
}

/// The indices come from a pool, since no others mean anything.
static Operation *buildMaxPoolGrad(Source &s) {
  auto pool = cast<MaxPoolOp>(buildMaxPool(s));
  Value cotangent = s.real(tensorType(pool.getResult()).getShape());
  return MaxPoolGradOp::create(s.builder, s.loc(), pool.getInput().getType(),
                               cotangent, pool.getIndices(), pool.getKernel(),
                               pool.getStrides(), pool.getDilations(),
                               pool.getPadLow(), pool.getPadHigh(),
                               pool.getChannelsLast());
}

template <typename OpT>
static Operation *buildSumPool(Source &s, Shape Pool::*operand,
                               Shape Pool::*result) {
  Pool p(s.choose, /*touching=*/false);
  Value x = s.real(p.*operand);
  return OpT::create(s.builder, s.loc(), s.realType(p.*result), x,
                     p.window.kernel, p.window.strides, p.window.dilations,
                     p.window.low, p.window.high, p.layout.channelsLast);
}

void ingot::testing::addWindowed(std::vector<Entry> &entries) {
  using C = Convolution;
  addEntry<ConvOp>(entries, [](Source &s) {
    return buildConvolution<ConvOp>(s, &C::input, &C::filter, &C::output);
  });
  addEntry<ConvInputGradOp>(entries, [](Source &s) {
    return buildConvolution<ConvInputGradOp>(s, &C::output, &C::filter,
                                             &C::input);
  });
  addEntry<ConvFilterGradOp>(entries, [](Source &s) {
    return buildConvolution<ConvFilterGradOp>(s, &C::output, &C::input,
                                              &C::filter);
  });
  addEntry<MaxPoolOp>(entries, buildMaxPool);
  addEntry<MaxPoolGradOp>(entries, buildMaxPoolGrad);
  addEntry<SumPoolOp>(entries, [](Source &s) {
    return buildSumPool<SumPoolOp>(s, &Pool::input, &Pool::output);
  });
  addEntry<SumPoolGradOp>(entries, [](Source &s) {
    return buildSumPool<SumPoolGradOp>(s, &Pool::output, &Pool::input);
  });
}
