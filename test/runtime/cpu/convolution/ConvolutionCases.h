// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Random convolutions of the forms that kernels differ in, and the definition
// that results are compared with.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_RUNTIME_CPU_CONVOLUTION_CONVOLUTIONCASES_H
#define INGOT_TEST_RUNTIME_CPU_CONVOLUTION_CONVOLUTIONCASES_H

#include "runtime/abi/Abi.h"
#include "runtime/core/Random.h"

#include <vector>

namespace ingot::runtime::tests {

/// The product of the first `rank` extents.
int64_t product(const int64_t *extents, int64_t rank);

/// Positions within planes of channels that one tap of one window multiplies
/// and adds to.
struct Tap {
  int64_t input, filter, output;
};
/// All taps that lie in the image: from the definition, one axis at a time.
std::vector<Tap> getTaps(const ingot_conv_desc &d);

/// Calls visit(input, filter, output) for every product of the convolution,
/// with linear indices.
template <typename Visit>
void forEachProduct(const ingot_conv_desc &d, const Visit &visit) {
  struct Layout {
    int64_t plane, channels;
    bool channelsLast;
    int64_t operator()(int64_t image, int64_t channel, int64_t position) const {
      return channelsLast ? (image * plane + position) * channels + channel
                          : (image * channels + channel) * plane + position;
    }
  };
  int64_t rank = d.spatial_rank;
  int64_t perGroup = d.in_channels / d.groups;
  int64_t outPerGroup = d.out_channels / d.groups;
  Layout input = {product(d.in, rank), d.in_channels, d.channels_last != 0};
  Layout output = {product(d.out, rank), d.out_channels, d.channels_last != 0};
  Layout filter = {product(d.kernel, rank), perGroup,
                   d.filter_channels_last != 0};
  std::vector<Tap> taps = getTaps(d);
  for (int64_t n = 0; n < d.batch; ++n)
    for (int64_t group = 0; group < d.groups; ++group)
      for (const Tap &tap : taps)
        for (int64_t i = 0; i < outPerGroup; ++i) {
          int64_t out = group * outPerGroup + i;
          for (int64_t c = 0; c < perGroup; ++c)
            visit(input(n, group * perGroup + c, tap.input),
                  filter(out, c, tap.filter), output(n, out, tap.output));
        }
}

/// How far the last tap of an axis is from the first.
int64_t getReach(const ingot_conv_desc &d, int64_t axis);
/// Draws an axis without its extents: up to `kernel` taps and a step of up to
/// `stride`, with padding in which no window lies as a whole.
void drawWindow(Philox &random, ingot_conv_desc &d, int64_t axis,
                int64_t kernel, int64_t stride);
/// Sets the extent of the output from that of the input.
void setOutput(ingot_conv_desc &d, int64_t axis);

using Draw = ingot_conv_desc (*)(Philox &random, ingot_dtype type);

/// Any convolution: in one to three dimensions, with groups, of both orders.
ingot_conv_desc drawDesc(Philox &random, ingot_dtype type);
/// 3 x 3 with whole vectors of channels.
ingot_conv_desc drawWinogradDesc(Philox &random, ingot_dtype type);
/// A filter for each channel or narrow groups, in two dimensions with channels
/// last.
ingot_conv_desc drawDepthwiseDesc(Philox &random, ingot_dtype type);
/// Rows and channels that take several tiles, panels and pieces.
ingot_conv_desc drawDirectDesc(Philox &random, ingot_dtype type);
/// One tap for each pixel, in one to three dimensions.
ingot_conv_desc drawPointwiseDesc(Philox &random, ingot_dtype type);
ingot_conv_desc drawStridedPointwiseDesc(Philox &random, ingot_dtype type);

} // namespace ingot::runtime::tests

#endif
