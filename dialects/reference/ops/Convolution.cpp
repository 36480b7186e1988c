// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Convolutions: docs/spec/convolution.md. All three are one sum over the same
// triples of (input, filter, output) elements, seen from different sides.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/convolution/WindowLayout.h"
#include "dialects/reference/Registry.h"

#include <array>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;

namespace {
/// Sizes along up to three spatial dimensions, the missing ones being 1.
using Spatial = std::array<int64_t, 3>;

struct Geometry {
  int64_t batch, inputChannels, outputChannels, groups;
  Spatial input, kernel, output, strides, dilations, low;
  bool channelsLast, filterChannelsLast;

  /// Returns where an element of the input or output is.
  int64_t at(int64_t image, int64_t channel, int64_t channels, int64_t position,
             int64_t plane) const {
    return channelsLast ? (image * plane + position) * channels + channel
                        : (image * channels + channel) * plane + position;
  }
  /// Returns where an element of the filter is.
  int64_t filterAt(int64_t out, int64_t in, int64_t inPerGroup, int64_t tap,
                   int64_t taps) const {
    return filterChannelsLast ? (out * taps + tap) * inPerGroup + in
                              : (out * inPerGroup + in) * taps + tap;
  }
};
} // namespace

/// Places the last entries last, `fill` before them.
static Spatial spatial(ArrayRef<int64_t> values, int64_t fill) {
  Spatial result = {fill, fill, fill};
  std::copy(values.begin(), values.end(), result.end() - values.size());
  return result;
}

template <typename OpT>
static Geometry getGeometry(OpT op, const Tensor &input, const Tensor &filter,
                            const Tensor &output) {
  WindowLayout layout{op.getChannelsLast()};
  int64_t channelDim = layout.channelDim(input.getShape().size());
  return {input.getShape()[0],
          input.getShape()[channelDim],
          output.getShape()[channelDim],
          static_cast<int64_t>(op.getGroups()),
          spatial(layout.spatial(input.getShape()), 1),
          spatial(WindowLayout{op.getFilterChannelsLast()}.spatial(
                      filter.getShape()),
                  1),
          spatial(layout.spatial(output.getShape()), 1),
          spatial(op.getStrides(), 1),
          spatial(op.getDilations(), 1),
          spatial(op.getPadLow(), 0),
          layout.channelsLast,
          op.getFilterChannelsLast()};
}

/// Calls `visit(input, filter, output)` with the positions of each product
/// input * filter that output sums up.
template <typename Visit>
static void forEachProduct(const Geometry &g, Visit visit) {
  int64_t inPerGroup = g.inputChannels / g.groups;
  int64_t outPerGroup = g.outputChannels / g.groups;
  int64_t inPlane = g.input[0] * g.input[1] * g.input[2];
  int64_t outPlane = g.output[0] * g.output[1] * g.output[2];
  int64_t kernelPlane = g.kernel[0] * g.kernel[1] * g.kernel[2];
  auto source = [&](int d, int64_t out, int64_t k) {
    return out * g.strides[d] + k * g.dilations[d] - g.low[d];
  };
  auto outside = [&](int d, int64_t at) { return at < 0 || at >= g.input[d]; };

  for (int64_t n = 0; n < g.batch; ++n)
    for (int64_t o = 0; o < g.outputChannels; ++o)
      for (int64_t c = 0; c < inPerGroup; ++c) {
        int64_t channel = o / outPerGroup * inPerGroup + c;
        for (int64_t kz = 0; kz < g.kernel[0]; ++kz)
          for (int64_t ky = 0; ky < g.kernel[1]; ++ky)
            for (int64_t kx = 0; kx < g.kernel[2]; ++kx) {
              int64_t k = (kz * g.kernel[1] + ky) * g.kernel[2] + kx;
              for (int64_t oz = 0; oz < g.output[0]; ++oz) {
                int64_t z = source(0, oz, kz);
                if (outside(0, z))
                  continue;
                for (int64_t oy = 0; oy < g.output[1]; ++oy) {
                  int64_t y = source(1, oy, ky);
                  if (outside(1, y))
                    continue;
                  for (int64_t ox = 0; ox < g.output[2]; ++ox) {
                    int64_t x = source(2, ox, kx);
                    if (outside(2, x))
                      continue;
                    visit(g.at(n, channel, g.inputChannels,
                               (z * g.input[1] + y) * g.input[2] + x, inPlane),
                          g.filterAt(o, c, inPerGroup, k, kernelPlane),
                          g.at(n, o, g.outputChannels,
                               (oz * g.output[1] + oy) * g.output[2] + ox,
                               outPlane));
                  }
                }
              }
            }
      }
}

/// Returns max(input * scale + shift, 0), rounded to the input's type.
template <typename OpT>
static Tensor normalize(OpT op, const Tensor &input, const Tensor &scale,
                        const Tensor &shift) {
  WindowLayout layout{op.getChannelsLast()};
  ArrayRef<int64_t> shape = input.getShape();
  int64_t channelDim = layout.channelDim(shape.size());
  int64_t inner = 1;
  for (int64_t size : shape.drop_front(channelDim + 1))
    inner *= size;
  Tensor result = input;
  for (int64_t i = 0, e = input.size(); i < e; ++i) {
    int64_t channel = i / inner % shape[channelDim];
    double value = input.real(i) * scale.real(channel) + shift.real(channel);
    result.real(i) = std::max(value, 0.0);
  }
  result.roundToElementType();
  return result;
}

void ingot::reference::registerConvolution(Registry &registry) {
  registry.add<ConvStatisticsOp>([](ConvStatisticsOp op, Operands in,
                                    Results out) {
    Tensor input = op.getScale() ? normalize(op, in[0], in[2], in[3]) : in[0];
    Geometry g = getGeometry(op, input, in[1], out[0]);
    forEachProduct(g, [&](int64_t i, int64_t f, int64_t o) {
      out[0].real(o) += input.real(i) * in[1].real(f);
    });
    out[0].roundToElementType();
    int64_t plane = g.output[0] * g.output[1] * g.output[2];
    for (int64_t i = 0, e = out[0].size(); i < e; ++i) {
      int64_t channel = (g.channelsLast ? i : i / plane) % g.outputChannels;
      out[1].real(channel) += out[0].real(i);
      out[2].real(channel) += out[0].real(i) * out[0].real(i);
    }
  });
  registry.add<ConvScaledFilterGradOp>(
      [](ConvScaledFilterGradOp op, Operands in, Results out) {
        Tensor input = normalize(op, in[1], in[2], in[3]);
        forEachProduct(getGeometry(op, input, out[0], in[0]),
                       [&](int64_t i, int64_t f, int64_t o) {
                         out[0].real(f) += in[0].real(o) * input.real(i);
                       });
      });
  registry.add<ConvOp>([](ConvOp op, Operands in, Results out) {
    forEachProduct(getGeometry(op, in[0], in[1], out[0]),
                   [&](int64_t i, int64_t f, int64_t o) {
                     out[0].real(o) += in[0].real(i) * in[1].real(f);
                   });
  });
  registry.add<ConvInputGradOp>(
      [](ConvInputGradOp op, Operands in, Results out) {
        forEachProduct(getGeometry(op, out[0], in[1], in[0]),
                       [&](int64_t i, int64_t f, int64_t o) {
                         out[0].real(i) += in[0].real(o) * in[1].real(f);
                       });
      });
  registry.add<ConvFilterGradOp>(
      [](ConvFilterGradOp op, Operands in, Results out) {
        forEachProduct(getGeometry(op, in[1], out[0], in[0]),
                       [&](int64_t i, int64_t f, int64_t o) {
                         out[0].real(f) += in[0].real(o) * in[1].real(i);
                       });
      });
}
