// SPDX-License-Identifier: Apache-2.0

#include "test/runtime/cpu/convolution/ConvolutionCases.h"

#include "runtime/cpu/plan/ConvolutionAlgorithms.h"

using namespace ingot::runtime;
using tests::Tap;

int64_t tests::product(const int64_t *extents, int64_t rank) {
  int64_t result = 1;
  for (int64_t i = 0; i < rank; ++i)
    result *= extents[i];
  return result;
}

static void addTaps(const ingot_conv_desc &d, int64_t axis, Tap tap,
                    std::vector<Tap> &taps) {
  if (axis == d.spatial_rank) {
    taps.push_back(tap);
    return;
  }
  for (int64_t o = 0; o < d.out[axis]; ++o)
    for (int64_t k = 0; k < d.kernel[axis]; ++k) {
      int64_t i = o * d.stride[axis] + k * d.dilation[axis] - d.pad_low[axis];
      if (i >= 0 && i < d.in[axis])
        addTaps(d, axis + 1,
                {tap.input * d.in[axis] + i, tap.filter * d.kernel[axis] + k,
                 tap.output * d.out[axis] + o},
                taps);
    }
}

std::vector<tests::Tap> tests::getTaps(const ingot_conv_desc &d) {
  std::vector<Tap> taps;
  addTaps(d, 0, {}, taps);
  return taps;
}

int64_t tests::getReach(const ingot_conv_desc &d, int64_t axis) {
  return (d.kernel[axis] - 1) * d.dilation[axis];
}

void tests::drawWindow(Philox &random, ingot_conv_desc &d, int64_t axis,
                       int64_t kernel, int64_t stride) {
  d.kernel[axis] = 1 + random.below(kernel);
  d.stride[axis] = 1 + random.below(stride);
  d.dilation[axis] = 1 + random.below(2);
  d.pad_low[axis] = random.below(getReach(d, axis) + 1);
  d.pad_high[axis] = random.below(getReach(d, axis) + 1);
}

void tests::setOutput(ingot_conv_desc &d, int64_t axis) {
  d.out[axis] = (d.in[axis] + d.pad_low[axis] + d.pad_high[axis] -
                 getReach(d, axis) - 1) /
                    d.stride[axis] +
                1;
}

ingot_conv_desc tests::drawDesc(Philox &random, ingot_dtype type) {
  ingot_conv_desc d = {};
  d.type = type;
  d.channels_last = random.below(2);
  d.filter_channels_last = random.below(4) == 0;
  d.spatial_rank = 1 + random.below(3);
  d.batch = 1 + random.below(3);
  d.groups = random.below(3) ? 1 : 1 + random.below(4);
  d.in_channels = d.groups * (1 + random.below(8));
  d.out_channels = d.groups * (1 + random.below(8));
  if (random.below(6) == 0)
    d.in_channels = d.out_channels = d.groups = 16; // depthwise
  for (int64_t i = 0; i < d.spatial_rank; ++i) {
    drawWindow(random, d, i, /*kernel=*/4, /*stride=*/3);
    d.in[i] = getReach(d, i) + 1 + random.below(6);
    setOutput(d, i);
  }
  return d;
}

ingot_conv_desc tests::drawWinogradDesc(Philox &random, ingot_dtype type) {
  ingot_conv_desc d = {};
  d.type = type;
  d.math = INGOT_MATH_WINOGRAD;
  d.channels_last = 1;
  d.spatial_rank = 2;
  d.groups = 1;
  d.in_channels = 16 * (1 + random.below(5));
  d.out_channels = 16 * (1 + random.below(5));
  do {
    d.batch = 2 + random.below(5);
    for (int64_t i = 0; i < 2; ++i) {
      d.kernel[i] = 3;
      d.stride[i] = d.dilation[i] = 1;
      d.pad_low[i] = random.below(3);
      d.pad_high[i] = random.below(3);
      d.in[i] = 3 + random.below(14);
      d.out[i] = d.in[i] + d.pad_low[i] + d.pad_high[i] - 2;
    }
  } while (!ingot::cpu::isWinograd(d));
  return d;
}

ingot_conv_desc tests::drawDepthwiseDesc(Philox &random, ingot_dtype type) {
  ingot_conv_desc d = {};
  d.type = type;
  d.channels_last = 1;
  d.spatial_rank = 2;
  d.batch = 1 + random.below(3);
  d.filter_channels_last = random.below(3) == 0;
  d.in_channels = d.out_channels = d.groups = 2 + random.below(150);
  if (random.below(2) == 0) {
    // Groups of several channels.
    d.in_channels = d.out_channels = 16 * (1 + random.below(6));
    d.groups = d.in_channels / (int64_t(4) << random.below(3));
    if (d.groups == 1)
      d.in_channels = d.out_channels = 16 * (d.groups = 2);
  }
  for (int64_t i = 0; i < d.spatial_rank; ++i) {
    drawWindow(random, d, i, /*kernel=*/7, /*stride=*/3);
    d.in[i] = getReach(d, i) + 1 + random.below(16);
    setOutput(d, i);
  }
  return d;
}

ingot_conv_desc tests::drawDirectDesc(Philox &random, ingot_dtype type) {
  ingot_conv_desc d = {};
  d.type = type;
  d.channels_last = random.below(4) != 0;
  d.filter_channels_last = random.below(4) == 0;
  d.spatial_rank = 1 + random.below(2);
  d.batch = 1 + random.below(4);
  d.groups = random.below(4) ? 1 : 2;
  bool isDeep = random.below(6) == 0;
  d.in_channels = d.groups * (1 + random.below(isDeep ? 900 : 70));
  d.out_channels = d.groups * (1 + random.below(isDeep ? 20 : 150));
  if (random.below(8) == 0)
    d.in_channels = 1024 * d.groups;
  for (int64_t i = 0; i < d.spatial_rank; ++i) {
    drawWindow(random, d, i, /*kernel=*/4, /*stride=*/3);
    // Windows that are outside the image.
    d.pad_low[i] += random.below(2);
    int64_t most = i + 1 < d.spatial_rank ? 5 : random.below(5) ? 20 : 420;
    d.in[i] = getReach(d, i) + 1 + random.below(isDeep ? 5 : most);
    setOutput(d, i);
  }
  return d;
}

ingot_conv_desc tests::drawPointwiseDesc(Philox &random, ingot_dtype type) {
  ingot_conv_desc d = {};
  d.type = type;
  d.channels_last = 1;
  d.filter_channels_last = random.below(2);
  d.spatial_rank = 1 + random.below(3);
  d.batch = 1 + random.below(5);
  d.groups = 1;
  d.in_channels = 1 + random.below(70);
  d.out_channels = 1 + random.below(70);
  for (int64_t i = 0; i < d.spatial_rank; ++i) {
    d.kernel[i] = d.stride[i] = 1;
    d.dilation[i] = 1 + random.below(2);
    d.in[i] = d.out[i] = 1 + random.below(9);
  }
  return d;
}

ingot_conv_desc tests::drawStridedPointwiseDesc(Philox &random,
                                                ingot_dtype type) {
  ingot_conv_desc d = drawPointwiseDesc(random, type);
  for (int64_t i = 0; i < d.spatial_rank; ++i) {
    d.stride[i] = 1 + random.below(3);
    d.out[i] = (d.in[i] - 1) / d.stride[i] + 1;
  }
  return d;
}
