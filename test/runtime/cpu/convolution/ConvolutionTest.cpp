// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Convolution and its gradients against plain loops, on random shapes with
// groups, strides, dilation and asymmetric padding, in one to three dimensions
// and both orders of channels.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/Scratch.h"
#include "runtime/core/Context.h"
#include "runtime/core/Random.h"
#include "runtime/core/machine/Features.h"
#include "runtime/cpu/HalfPrecision.h"
#include "runtime/cpu/ThreadPool.h"
#include "runtime/cpu/convolution/ReferenceConvolution.h"
#include "runtime/cpu/depthwise/Depthwise.h"
#include "runtime/cpu/gemm/Gemm.h"
#include "runtime/cpu/winograd/Winograd.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <tuple>
#include <vector>

extern "C" void omp_set_num_threads(int count);

using namespace ingot::runtime;

namespace {

int64_t product(const int64_t *extents, int64_t rank) {
  int64_t result = 1;
  for (int64_t i = 0; i < rank; ++i)
    result *= extents[i];
  return result;
}

/// The linear index of an element, from that with channels first.
int64_t place(bool channelsLast, int64_t channels, int64_t plane,
              int64_t index) {
  if (!channelsLast)
    return index;
  int64_t position = index % plane, channel = index / plane % channels;
  return (index / plane / channels * plane + position) * channels + channel;
}

/// Calls visit(input, filter, output) for every product of the convolution,
/// with linear indices: written from the definition, one axis at a time.
void forEachProduct(
    const ingot_conv_desc &d,
    const std::function<void(int64_t, int64_t, int64_t)> &visit) {
  int64_t perGroup = d.in_channels / d.groups;
  int64_t outPerGroup = d.out_channels / d.groups;
  int64_t inPlane = product(d.in, d.spatial_rank);
  int64_t outPlane = product(d.out, d.spatial_rank);
  int64_t taps = product(d.kernel, d.spatial_rank);
  std::function<void(int64_t, int64_t, int64_t, int64_t)> descend =
      [&](int64_t axis, int64_t input, int64_t filter, int64_t output) {
        if (axis == d.spatial_rank)
          return visit(
              place(d.channels_last, d.in_channels, inPlane, input),
              place(d.filter_channels_last, perGroup, taps, filter),
              place(d.channels_last, d.out_channels, outPlane, output));
        for (int64_t o = 0; o < d.out[axis]; ++o)
          for (int64_t k = 0; k < d.kernel[axis]; ++k) {
            int64_t i =
                o * d.stride[axis] + k * d.dilation[axis] - d.pad_low[axis];
            if (i >= 0 && i < d.in[axis])
              descend(axis + 1, input * d.in[axis] + i,
                      filter * d.kernel[axis] + k, output * d.out[axis] + o);
          }
      };
  for (int64_t n = 0; n < d.batch; ++n)
    for (int64_t oc = 0; oc < d.out_channels; ++oc)
      for (int64_t c = 0; c < perGroup; ++c)
        descend(0, n * d.in_channels + oc / outPerGroup * perGroup + c,
                oc * perGroup + c, n * d.out_channels + oc);
}

ingot_conv_desc drawDesc(Philox &random, ingot_dtype type) {
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
    d.kernel[i] = 1 + random.below(4);
    d.stride[i] = 1 + random.below(3);
    d.dilation[i] = 1 + random.below(2);
    int64_t reach = (d.kernel[i] - 1) * d.dilation[i];
    d.pad_low[i] = random.below(reach + 1);
    d.pad_high[i] = random.below(reach + 1);
    d.in[i] = reach + 1 + random.below(6);
    d.out[i] =
        (d.in[i] + d.pad_low[i] + d.pad_high[i] - reach - 1) / d.stride[i] + 1;
  }
  return d;
}

/// 3 x 3 with whole vectors of channels.
ingot_conv_desc drawWinogradDesc(Philox &random, ingot_dtype type) {
  ingot_conv_desc d = {};
  d.type = type;
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
  } while (!ingot::abi::isWinograd(d));
  return d;
}

using Draw = ingot_conv_desc (*)(Philox &random, ingot_dtype type);

/// What errors are compared with: each element, or all elements' size, where
/// intermediate values are of that size.
enum class Scale { Element, Whole };

template <typename T>
void check(ingot_dtype type, double tolerance, int count, Draw drawDesc,
           Scale scale = Scale::Element) {
  Philox random(3, 4);
  std::vector<ingot_conv_desc> descs(count);
  ingot_context context;
  for (ingot_conv_desc &d : descs) {
    d = drawDesc(random, type);
    auto draw = [&](int64_t count) {
      std::vector<T> values(count);
      for (T &value : values)
        value = static_cast<T>(random.normal());
      return values;
    };
    std::vector<T> input =
        draw(d.batch * d.in_channels * product(d.in, d.spatial_rank));
    std::vector<T> filter = draw(d.out_channels * d.in_channels / d.groups *
                                 product(d.kernel, d.spatial_rank));
    std::vector<T> output =
        draw(d.batch * d.out_channels * product(d.out, d.spatial_rank));
    std::vector<T> forward(output.size(), T(NAN));
    std::vector<T> inputGrad(input.size(), T(NAN));
    std::vector<T> filterGrad(filter.size(), T(NAN));
    d.scratch_bytes = ingot::abi::getScratchBytes(d, {getThreadCount()});
    Block scratch(d.scratch_bytes, "scratch");
    for (int repeat = 0; repeat < 2; ++repeat) {
      ingot_conv(&context, &d, input.data(), filter.data(), forward.data(),
                 scratch.getData());
      ingot_conv_input_grad(&context, &d, output.data(), filter.data(),
                            inputGrad.data(), scratch.getData());
      ingot_conv_filter_grad(&context, &d, output.data(), input.data(),
                             filterGrad.data(), scratch.getData());
    }
    ASSERT_FALSE(context.failed) << context.message;
    ASSERT_EQ(context.getUnplannedBytes(), 0u);
    std::vector<double> expectedForward(output.size());
    std::vector<double> expectedInput(input.size());
    std::vector<double> expectedFilter(filter.size());
    forEachProduct(d, [&](int64_t i, int64_t f, int64_t o) {
      expectedForward[o] += double(input[i]) * double(filter[f]);
      expectedInput[i] += double(output[o]) * double(filter[f]);
      expectedFilter[f] += double(output[o]) * double(input[i]);
    });
    auto compare = [&](const std::vector<T> &actual,
                       const std::vector<double> &expected, const char *what) {
      double squares = 0;
      for (double x : expected)
        squares += x * x;
      double size = std::sqrt(squares / static_cast<double>(expected.size()));
      for (size_t i = 0; i < actual.size(); ++i)
        ASSERT_NEAR(actual[i], expected[i],
                    tolerance * (scale == Scale::Whole
                                     ? size
                                     : 1 + std::fabs(expected[i])))
            << what << " at " << i << ": rank " << d.spatial_rank << " groups "
            << d.groups << " channels " << d.in_channels << " to "
            << d.out_channels;
    };
    compare(forward, expectedForward, "forward");
    compare(inputGrad, expectedInput, "input gradient");
    compare(filterGrad, expectedFilter, "filter gradient");
  }
}

/// A convolution of an image classifier.
struct Layer {
  int64_t size, in, out, kernel, stride, groups;
};

// Numbers of threads that shapes and machines differ in.
TEST(Convolution, ScratchOfLayersIsAsPlanned) {
  int before = getThreadCount();
  for (int threads : {1, 2, 3, 4, 8})
    for (Layer layer : {Layer{28, 3, 64, 7, 2, 1},
                        {14, 64, 64, 3, 1, 1},
                        {14, 64, 128, 3, 2, 1},
                        {14, 64, 256, 1, 1, 1},
                        {14, 256, 96, 1, 2, 1},
                        {14, 96, 96, 3, 1, 96},
                        {14, 96, 96, 5, 2, 96},
                        {14, 128, 128, 3, 1, 32},
                        {14, 24, 40, 1, 1, 1}}) {
      omp_set_num_threads(threads);
      ingot_conv_desc d = {};
      d.type = INGOT_F32;
      d.channels_last = 1;
      d.spatial_rank = 2;
      d.batch = 2;
      d.in_channels = layer.in;
      d.out_channels = layer.out;
      d.groups = layer.groups;
      for (int64_t i = 0; i < 2; ++i) {
        d.in[i] = layer.size;
        d.kernel[i] = layer.kernel;
        d.stride[i] = layer.stride;
        d.dilation[i] = 1;
        d.pad_low[i] = d.pad_high[i] = layer.kernel / 2;
        d.out[i] = (layer.size - 1) / layer.stride + 1;
      }
      std::vector<float> input(d.batch * d.in_channels * product(d.in, 2));
      std::vector<float> output(d.batch * d.out_channels * product(d.out, 2));
      std::vector<float> filter(d.out_channels * d.in_channels / d.groups *
                                product(d.kernel, 2));
      d.scratch_bytes = ingot::abi::getScratchBytes(d, {threads});
      Block scratch(d.scratch_bytes, "scratch");
      ingot_context context;
      ingot_conv(&context, &d, input.data(), filter.data(), output.data(),
                 scratch.getData());
      ingot_conv_input_grad(&context, &d, output.data(), filter.data(),
                            input.data(), scratch.getData());
      ingot_conv_filter_grad(&context, &d, output.data(), input.data(),
                             filter.data(), scratch.getData());
      EXPECT_FALSE(context.failed) << context.message;
      EXPECT_EQ(context.getUnplannedBytes(), 0u)
          << "planned " << d.scratch_bytes << ", " << threads << " threads, "
          << layer.in << " to " << layer.out << " channels, kernel "
          << layer.kernel << ", stride " << layer.stride << ", " << layer.groups
          << " groups";
    }
  omp_set_num_threads(before);
}

/// A filter for each channel, in two dimensions with channels last.
ingot_conv_desc drawDepthwiseDesc(Philox &random, ingot_dtype type) {
  ingot_conv_desc d = {};
  d.type = type;
  d.channels_last = 1;
  d.spatial_rank = 2;
  d.batch = 1 + random.below(3);
  d.in_channels = d.out_channels = d.groups = 2 + random.below(150);
  for (int64_t i = 0; i < d.spatial_rank; ++i) {
    d.kernel[i] = 1 + random.below(7);
    d.stride[i] = 1 + random.below(3);
    d.dilation[i] = 1 + random.below(2);
    int64_t reach = (d.kernel[i] - 1) * d.dilation[i];
    d.pad_low[i] = random.below(reach + 1);
    d.pad_high[i] = random.below(reach + 1);
    d.in[i] = reach + 1 + random.below(16);
    d.out[i] =
        (d.in[i] + d.pad_low[i] + d.pad_high[i] - reach - 1) / d.stride[i] + 1;
  }
  return d;
}

TEST(Convolution, Depthwise) {
  check<float>(INGOT_F32, 1e-4, 60, drawDepthwiseDesc);
}

/// Rows and channels that take several tiles, panels and pieces.
ingot_conv_desc drawDirectDesc(Philox &random, ingot_dtype type) {
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
    d.kernel[i] = 1 + random.below(4);
    d.stride[i] = 1 + random.below(3);
    d.dilation[i] = 1 + random.below(2);
    int64_t reach = (d.kernel[i] - 1) * d.dilation[i];
    d.pad_low[i] = random.below(reach + 2);
    d.pad_high[i] = random.below(reach + 1);
    int64_t most = i + 1 < d.spatial_rank ? 5 : random.below(5) ? 20 : 420;
    d.in[i] = reach + 1 + random.below(isDeep ? 5 : most);
    d.out[i] =
        (d.in[i] + d.pad_low[i] + d.pad_high[i] - reach - 1) / d.stride[i] + 1;
  }
  return d;
}

TEST(Convolution, Direct) {
  check<float>(INGOT_F32, 3e-5, 60, drawDirectDesc, Scale::Whole);
}

TEST(Convolution, F32) { check<float>(INGOT_F32, 1e-4, 80, drawDesc); }
TEST(Convolution, F64) { check<double>(INGOT_F64, 1e-12, 80, drawDesc); }
TEST(Convolution, Winograd) {
  check<float>(INGOT_F32, 2e-5, 40, drawWinogradDesc, Scale::Whole);
}

/// Of a 3 x 3 convolution, the root-mean-square error relative to the values'.
/// One running sum over the channels, or over the tiles for the filter
/// gradient, has more than twice these errors.
TEST(Convolution, WinogradSumsInParts) {
  struct Case {
    int64_t batch, size, channelsIn, channelsOut;
    double forward, filterGrad;
  };
  for (Case c :
       {Case{6, 8, 512, 16, 1.2e-6, 1e-6}, Case{4, 64, 16, 16, 8e-7, 1.4e-6}}) {
    ingot_conv_desc d = {};
    d.type = INGOT_F32;
    d.channels_last = 1;
    d.spatial_rank = 2;
    d.groups = 1;
    d.batch = c.batch;
    d.in_channels = c.channelsIn;
    d.out_channels = c.channelsOut;
    for (int i = 0; i < 2; ++i) {
      d.kernel[i] = 3;
      d.stride[i] = d.dilation[i] = d.pad_low[i] = d.pad_high[i] = 1;
      d.in[i] = d.out[i] = c.size;
    }
    ASSERT_TRUE(ingot::abi::isWinograd(d));
    Philox random(7, 1);
    auto draw = [&](int64_t count) {
      std::vector<float> values(count);
      for (float &value : values)
        value = static_cast<float>(random.normal());
      return values;
    };
    int64_t pixels = d.batch * c.size * c.size;
    std::vector<float> input = draw(pixels * d.in_channels);
    std::vector<float> filter = draw(d.out_channels * d.in_channels * 9);
    std::vector<float> grad = draw(pixels * d.out_channels);
    std::vector<float> forward(grad.size()), filterGrad(filter.size());
    Block scratch(getWinogradScratchBytes(d, getThreadCount()), "scratch");
    convolveWinograd(d, input.data(), filter.data(), forward.data(),
                     scratch.getData());
    convolveFilterGradWinograd(d, grad.data(), input.data(), filterGrad.data(),
                               scratch.getData());
    std::vector<double> expectedForward(grad.size());
    std::vector<double> expectedFilter(filter.size());
    forEachProduct(d, [&](int64_t i, int64_t f, int64_t o) {
      expectedForward[o] += double(input[i]) * double(filter[f]);
      expectedFilter[f] += double(grad[o]) * double(input[i]);
    });
    auto relativeError = [](const std::vector<float> &actual,
                            const std::vector<double> &expected) {
      double errors = 0, squares = 0;
      for (size_t i = 0; i < actual.size(); ++i) {
        errors += (actual[i] - expected[i]) * (actual[i] - expected[i]);
        squares += expected[i] * expected[i];
      }
      return std::sqrt(errors / squares);
    };
    EXPECT_LT(relativeError(forward, expectedForward), c.forward);
    EXPECT_LT(relativeError(filterGrad, expectedFilter), c.filterGrad);
  }
}

TEST(Convolution, ScratchIsAsPlanned) {
  Philox random(5, 6);
  for (int64_t threads : {1, 2, 16})
    for (int i = 0; i < 200; ++i) {
      ingot_conv_desc d = drawWinogradDesc(random, INGOT_F32);
      d.batch = 1 + random.below(40);
      d.in_channels = 16 * (1 + random.below(20));
      if (!ingot::abi::isWinograd(d))
        continue;
      ASSERT_LE(getWinogradScratchBytes(d, threads),
                static_cast<size_t>(ingot::abi::getScratchBytes(d, {threads})));
    }
}

/// One tap for each pixel, in one to three dimensions.
ingot_conv_desc drawPointwiseDesc(Philox &random, ingot_dtype type) {
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

TEST(Convolution, Pointwise) {
  check<float>(INGOT_F32, 1e-4, 30, drawPointwiseDesc);
}

// The sums of both are in the same order: of the filter's gradient with many
// channels, and of all with few pixels.
TEST(Convolution, PointwiseIsAMatmul) {
  Philox random(9, 10);
  auto draw = [&](int64_t count) {
    std::vector<float> values(count);
    for (float &value : values)
      value = static_cast<float>(random.normal());
    return values;
  };
  for (int64_t pixels : {24, 2000}) {
    ingot_conv_desc d = drawPointwiseDesc(random, INGOT_F32);
    d.spatial_rank = 1;
    d.batch = 1;
    d.in[0] = d.out[0] = pixels;
    d.in_channels = 80;
    d.out_channels = 72;
    ASSERT_TRUE(ingot::abi::isPointwise(d));
    std::vector<float> input = draw(pixels * d.in_channels);
    std::vector<float> filter = draw(d.out_channels * d.in_channels);
    std::vector<float> grad = draw(pixels * d.out_channels);
    auto expectMatmul = [&](auto *entry, const std::vector<float> &first,
                            const std::vector<float> &second,
                            ingot_matmul_desc matmul) {
      std::vector<float> own(matmul.m * matmul.n, NAN), expected = own;
      matmul.batch = 1;
      matmul.a_type = matmul.b_type = matmul.c_type = INGOT_F32;
      ingot_context context;
      entry(&context, &d, first.data(), second.data(), own.data(), nullptr);
      ingot_matmul(&context, &matmul, first.data(), second.data(),
                   expected.data(), nullptr);
      ASSERT_FALSE(context.failed) << context.message;
      EXPECT_EQ(own, expected);
    };
    ingot_matmul_desc forward = {}, inputGrad = {}, filterGrad = {};
    forward.m = inputGrad.m = filterGrad.k = pixels;
    forward.n = inputGrad.k = filterGrad.m = d.out_channels;
    forward.k = inputGrad.n = filterGrad.n = d.in_channels;
    forward.transpose_b = filterGrad.transpose_a = 1;
    if (pixels < d.out_channels) {
      expectMatmul(ingot_conv, input, filter, forward);
      expectMatmul(ingot_conv_input_grad, grad, filter, inputGrad);
    }
    expectMatmul(ingot_conv_filter_grad, grad, input, filterGrad);
  }
}

/// What is computed as a product, at least in part, and in several parts.
ingot_conv_desc drawTileDesc(Philox &random, ingot_dtype type) {
  ingot_conv_desc d = {};
  d.type = type;
  d.channels_last = 1;
  d.spatial_rank = 2;
  d.groups = 1;
  d.batch = 1 + random.below(40);
  d.in_channels = 32 * (1 + random.below(12));
  d.out_channels = 32 * (1 + random.below(6));
  for (int64_t i = 0; i < 2; ++i) {
    d.kernel[i] = 1 + random.below(4);
    d.stride[i] = 1 + random.below(2);
    d.dilation[i] = 1 + random.below(2);
    int64_t reach = (d.kernel[i] - 1) * d.dilation[i];
    d.pad_low[i] = random.below(reach + 1);
    d.pad_high[i] = random.below(reach + 1);
    d.out[i] = 1 + random.below(4);
    d.in[i] =
        (d.out[i] - 1) * d.stride[i] + reach + 1 - d.pad_low[i] - d.pad_high[i];
    // Windows that lie outside, and pixels that no window reaches.
    d.in[i] = std::max<int64_t>(1, d.in[i] + random.below(d.stride[i]));
    d.out[i] =
        (d.in[i] + d.pad_low[i] + d.pad_high[i] - reach - 1) / d.stride[i] + 1;
  }
  return d;
}

/// What Winograd's algorithm computes on widened operands.
ingot_conv_desc drawHalfWinogradDesc(Philox &random, ingot_dtype type) {
  ingot_conv_desc d = drawWinogradDesc(random, INGOT_F32);
  d.type = type;
  EXPECT_TRUE(ingot::abi::isWidened(d));
  return d;
}

/// Compares convolutions in 16 bits with sums in double. Operands are what 16
/// bits hold, so that all that differs is the order of sums in f32 and the
/// rounding of the result. Counts how many of each kind were chosen.
void checkHalves(
    ingot_dtype type, int cases, Draw drawDesc,
    const std::function<bool(ingot_conv_desc &, ingot::abi::ConvKind)> &choose,
    std::array<int, 3> &counts) {
  double tolerance = type == INGOT_BF16 ? 0x1p-8 : 0x1p-11;
  Philox random(7, 8);
  for (int i = 0; i < cases; ++i) {
    ingot_conv_desc d = drawDesc(random, type);
    struct Tensor {
      std::vector<uint16_t> half;
      std::vector<float> wide;
    };
    auto draw = [&](int64_t count) {
      Tensor tensor = {std::vector<uint16_t>(count), std::vector<float>(count)};
      for (float &value : tensor.wide)
        value = static_cast<float>(random.normal());
      roundFromF32(tensor.wide.data(), tensor.half.data(), type, count);
      widenToF32(tensor.half.data(), type, tensor.wide.data(), count);
      return tensor;
    };
    Tensor input = draw(d.batch * d.in_channels * product(d.in, d.spatial_rank));
    Tensor output = draw(d.batch * d.out_channels * product(d.out, d.spatial_rank));
    Tensor filter = draw(d.out_channels * (d.in_channels / d.groups) *
                         product(d.kernel, d.spatial_rank));
    std::vector<double> sums[3] = {std::vector<double>(output.wide.size()),
                                   std::vector<double>(input.wide.size()),
                                   std::vector<double>(filter.wide.size())};
    forEachProduct(d, [&](int64_t in, int64_t tap, int64_t out) {
      double x = input.wide[in], w = filter.wide[tap], y = output.wide[out];
      sums[0][out] += x * w;
      sums[1][in] += y * w;
      sums[2][tap] += y * x;
    });
    using Entry = void (*)(ingot_context *, const ingot_conv_desc *,
                           const void *, const void *, void *, void *);
    const Entry entries[] = {ingot_conv, ingot_conv_input_grad,
                             ingot_conv_filter_grad};
    const Tensor *operands[3][2] = {
        {&input, &filter}, {&output, &filter}, {&output, &input}};
    for (int kind = 0; kind < 3; ++kind) {
      auto which = static_cast<ingot::abi::ConvKind>(kind);
      if (!choose(d, which))
        continue;
      ++counts[kind];
      Block scratch(d.scratch_bytes, "scratch");
      const std::vector<double> &expected = sums[kind];
      std::vector<uint16_t> result(expected.size(), 0x7fff);
      ingot_context context;
      entries[kind](&context, &d, operands[kind][0]->half.data(),
                    operands[kind][1]->half.data(), result.data(),
                    scratch.getData());
      ASSERT_FALSE(context.failed) << context.message;
      ASSERT_EQ(context.getUnplannedBytes(), 0u);
      std::vector<float> actual(result.size());
      auto count = static_cast<int64_t>(result.size());
      widenToF32(result.data(), type, actual.data(), count);
      for (int64_t j = 0; j < count; ++j)
        ASSERT_NEAR(actual[j], expected[j],
                    tolerance * std::fabs(expected[j]) + 1e-3)
            << "kind " << kind << " at " << j << " of case " << i;
    }
  }
}

class TileConvolution : public testing::TestWithParam<ingot_dtype> {};

TEST_P(TileConvolution, EveryKindAsAProduct) {
  if (!hasTileUnits())
    GTEST_SKIP() << "this processor has no tile units";
  ingot::abi::ScratchMachine machine;
  machine.threads = getThreadCount();
  machine.tilesHalves = true;
  std::array<int, 3> counts = {};
  checkHalves(
      GetParam(), 24, drawTileDesc,
      [&](ingot_conv_desc &d, ingot::abi::ConvKind kind) {
        d.math = INGOT_MATH_TILES;
        d.scratch_bytes =
            ingot::abi::Im2colGemm(d, kind, machine.threads).getScratchBytes();
        return isOnTiles(d, kind, machine);
      },
      counts);
  for (int count : counts)
    EXPECT_GT(count, 3);
}

class HalfConvolution : public testing::TestWithParam<ingot_dtype> {};

TEST_P(HalfConvolution, EveryForm) {
  std::array<int, 3> counts = {};
  for (Draw draw : {drawDesc, drawDirectDesc, drawDepthwiseDesc,
                    drawPointwiseDesc, drawHalfWinogradDesc})
    checkHalves(GetParam(), 16, draw,
                [](ingot_conv_desc &d, ingot::abi::ConvKind) {
                  d.scratch_bytes =
                      ingot::abi::getScratchBytes(d, {getThreadCount()});
                  return true;
                },
                counts);
}

INSTANTIATE_TEST_SUITE_P(Types, HalfConvolution,
                         testing::Values(INGOT_BF16, INGOT_F16),
                         [](const auto &info) {
                           return info.param == INGOT_BF16 ? "Bf16" : "F16";
                         });
INSTANTIATE_TEST_SUITE_P(Types, TileConvolution,
                         testing::Values(INGOT_BF16, INGOT_F16),
                         [](const auto &info) {
                           return info.param == INGOT_BF16 ? "Bf16" : "F16";
                         });

} // namespace
