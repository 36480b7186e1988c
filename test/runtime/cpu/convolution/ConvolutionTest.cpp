// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Convolution and its gradients against plain loops, on random shapes with
// groups, strides, dilation and asymmetric padding, in one to three dimensions
// and both orders of channels.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Context.h"
#include "runtime/core/Random.h"
#include "runtime/core/machine/Features.h"
#include "runtime/cpu/convolution/ReferenceConvolution.h"
#include "runtime/cpu/depthwise/Depthwise.h"
#include "runtime/cpu/gemm/RunGemm.h"
#include "runtime/cpu/plan/ConvolutionAlgorithms.h"
#include "runtime/cpu/threads/ThreadPool.h"
#include "runtime/cpu/vectors/HalfPrecision.h"
#include "runtime/cpu/winograd/Winograd.h"
#include "test/runtime/cpu/convolution/ConvolutionCases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <tuple>
#include <vector>

using namespace ingot::runtime;
using namespace ingot::runtime::tests;

namespace {

/// The magnitude that errors are compared with: that of each element, or of all
/// elements, where intermediate values are of that size.
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
    d.scratch_bytes = ingot::cpu::getScratchBytes(d, {getThreadCount()});
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

ingot_conv_desc drawStrassenDesc(Philox &random, ingot_dtype type) {
  ingot_conv_desc d = drawPointwiseDesc(random, type);
  d.math = INGOT_MATH_STRASSEN;
  return d;
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
      setThreadCount(threads);
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
      if (ingot::cpu::hasWinogradForm(d))
        d.math = INGOT_MATH_WINOGRAD;
      std::vector<float> input(d.batch * d.in_channels * product(d.in, 2));
      std::vector<float> output(d.batch * d.out_channels * product(d.out, 2));
      std::vector<float> filter(d.out_channels * d.in_channels / d.groups *
                                product(d.kernel, 2));
      d.scratch_bytes = ingot::cpu::getScratchBytes(d, {threads});
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
  setThreadCount(before);
}

// Parts of sums follow from the shape, and threads share them out.
TEST(Convolution, ThreadsDoNotChangeBits) {
  int before = getThreadCount();
  Philox random(11, 12);
  for (Draw draw :
       {drawDesc, drawDirectDesc, drawDepthwiseDesc, drawPointwiseDesc,
        drawStridedPointwiseDesc, drawWinogradDesc})
    for (int i = 0; i < 12; ++i) {
      ingot_conv_desc d = draw(random, INGOT_F32);
      // Enough for several parts of the batch.
      d.batch += random.below(12);
      auto drawValues = [&](int64_t count) {
        std::vector<float> values(count);
        for (float &value : values)
          value = static_cast<float>(random.normal());
        return values;
      };
      int64_t rank = d.spatial_rank;
      std::vector<float> input =
          drawValues(d.batch * d.in_channels * product(d.in, rank));
      std::vector<float> filter = drawValues(
          d.out_channels * d.in_channels / d.groups * product(d.kernel, rank));
      std::vector<float> output =
          drawValues(d.batch * d.out_channels * product(d.out, rank));
      std::array<std::vector<float>, 3> results[3];
      for (int threads : {1, 2, 3}) {
        setThreadCount(threads);
        auto &own = results[threads - 1];
        own = {output, input, filter};
        d.scratch_bytes = ingot::cpu::getScratchBytes(d, {threads});
        Block scratch(d.scratch_bytes, "scratch");
        ingot_context context;
        ingot_conv(&context, &d, input.data(), filter.data(), own[0].data(),
                   scratch.getData());
        ingot_conv_input_grad(&context, &d, output.data(), filter.data(),
                              own[1].data(), scratch.getData());
        ingot_conv_filter_grad(&context, &d, output.data(), input.data(),
                               own[2].data(), scratch.getData());
        EXPECT_FALSE(context.failed) << context.message;
        for (int kind = 0; kind < 3; ++kind)
          ASSERT_EQ(std::memcmp(own[kind].data(), results[0][kind].data(),
                                own[kind].size() * sizeof(float)),
                    0)
              << "kind " << kind << " of case " << i << ", " << threads
              << " threads, " << d.in_channels << " to " << d.out_channels
              << " channels, " << d.groups << " groups";
      }
    }
  setThreadCount(before);
}

// Results of 16 MiB are stored past the caches where they are aligned.
TEST(Convolution, AlignmentDoesNotChangeBits) {
  Philox random(13, 14);
  for (int64_t groups : {1, 4, 16}) {
    ingot_conv_desc d = {};
    d.type = INGOT_F32;
    d.channels_last = 1;
    d.spatial_rank = 2;
    d.batch = 5;
    d.groups = groups;
    d.out_channels = 16;
    d.in_channels = groups == 1 ? 3 : 16;
    for (int64_t i = 0; i < 2; ++i) {
      d.kernel[i] = 3;
      d.stride[i] = d.dilation[i] = d.pad_low[i] = d.pad_high[i] = 1;
      d.in[i] = d.out[i] = 231;
    }
    auto draw = [&](int64_t count) {
      std::vector<float> values(count);
      for (float &value : values)
        value = static_cast<float>(random.below(16));
      return values;
    };
    std::vector<float> input = draw(d.batch * d.in_channels * product(d.in, 2));
    std::vector<float> filter =
        draw(d.out_channels * d.in_channels / groups * product(d.kernel, 2));
    int64_t count = d.batch * d.out_channels * product(d.out, 2);
    ASSERT_GE(count * int64_t(sizeof(float)), 16 << 20);
    d.scratch_bytes = ingot::cpu::getScratchBytes(d, {getThreadCount()});
    Block scratch(d.scratch_bytes, "scratch");
    constexpr int64_t offset = 4;
    Block results((count + offset) * sizeof(float), "results");
    auto *aligned = reinterpret_cast<float *>(results.getData());
    ingot_context context;
    auto run = [&](float *to) {
      std::fill_n(aligned, count + offset, NAN);
      ingot_conv(&context, &d, input.data(), filter.data(), to,
                 scratch.getData());
      return std::vector<float>(to, to + count);
    };
    EXPECT_EQ(run(aligned), run(aligned + offset)) << groups << " groups";
    EXPECT_FALSE(context.failed) << context.message;
  }
}

TEST(Convolution, Depthwise) {
  check<float>(INGOT_F32, 1e-4, 60, drawDepthwiseDesc);
}

TEST(Convolution, Direct) {
  check<float>(INGOT_F32, 3e-5, 60, drawDirectDesc, Scale::Whole);
}

TEST(Convolution, F32) { check<float>(INGOT_F32, 1e-4, 80, drawDesc); }
TEST(Convolution, F64) { check<double>(INGOT_F64, 1e-12, 80, drawDesc); }
TEST(Convolution, Winograd) {
  check<float>(INGOT_F32, 2e-5, 40, drawWinogradDesc, Scale::Whole);
}

/// Bounds the root-mean-square error of a 3 x 3 convolution, relative to that
/// of the values. One running sum over the channels and taps, or over the tiles
/// for the filter gradient, errs more.
TEST(Convolution, SumsInParts) {
  struct Case {
    int64_t batch, size, channelsIn, channelsOut;
    ingot_math math;
    double forward, filterGrad;
  };
  for (Case c : {Case{6, 8, 512, 16, INGOT_MATH_WINOGRAD, 8e-7, 8e-7},
                 {4, 64, 16, 16, INGOT_MATH_WINOGRAD, 6e-7, 8.5e-7},
                 {6, 8, 512, 16, INGOT_MATH_EXACT, 2e-7, 2e-7},
                 {4, 64, 16, 16, INGOT_MATH_EXACT, 2e-7, 3e-7}}) {
    ingot_conv_desc d = {};
    d.type = INGOT_F32;
    d.math = c.math;
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
    ASSERT_EQ(ingot::cpu::isWinograd(d), c.math == INGOT_MATH_WINOGRAD);
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
    ingot_context context;
    ingot_conv(&context, &d, input.data(), filter.data(), forward.data(),
               nullptr);
    ingot_conv_filter_grad(&context, &d, grad.data(), input.data(),
                           filterGrad.data(), nullptr);
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
      if (!ingot::cpu::isWinograd(d))
        continue;
      ASSERT_LE(getWinogradScratchBytes(d, threads),
                static_cast<size_t>(ingot::cpu::getScratchBytes(d, {threads})));
    }
}

TEST(Convolution, Pointwise) {
  check<float>(INGOT_F32, 1e-4, 30, drawPointwiseDesc);
  check<float>(INGOT_F32, 1e-5, 30, drawStrassenDesc, Scale::Whole);
}

// Pixels are gathered for the forward pass and the filter's gradient.
TEST(Convolution, PointwiseWithStrides) {
  check<float>(INGOT_F32, 1e-4, 60, drawStridedPointwiseDesc);
}

// Gradients of filters read the output's gradient where it is.
TEST(Convolution, PointwiseOfFewChannels) {
  check<float>(INGOT_F32, 1e-4, 10, [](Philox &random, ingot_dtype type) {
    ingot_conv_desc d = drawPointwiseDesc(random, type);
    d.in_channels = 24;
    d.out_channels = 48;
    return d;
  });
}

// The sums of both are in the same order: of the filter's gradient with many
// channels, and of all with few pixels or by Strassen's algorithm.
TEST(Convolution, PointwiseIsAMatmul) {
  Philox random(9, 10);
  auto draw = [&](int64_t count) {
    std::vector<float> values(count);
    for (float &value : values)
      value = static_cast<float>(random.normal());
    return values;
  };
  using Case = std::pair<int64_t, ingot_math>;
  for (auto [pixels, math] :
       {Case(24, INGOT_MATH_EXACT), Case(2000, INGOT_MATH_EXACT),
        Case(2000, INGOT_MATH_STRASSEN)}) {
    ingot_conv_desc d = drawPointwiseDesc(random, INGOT_F32);
    d.math = math;
    d.spatial_rank = 1;
    d.batch = 1;
    d.in[0] = d.out[0] = pixels;
    d.in_channels = 80;
    d.out_channels = 72;
    ASSERT_TRUE(ingot::cpu::isPointwise(d));
    std::vector<float> input = draw(pixels * d.in_channels);
    std::vector<float> filter = draw(d.out_channels * d.in_channels);
    std::vector<float> grad = draw(pixels * d.out_channels);
    auto expectMatmul = [&](auto *entry, const std::vector<float> &first,
                            const std::vector<float> &second,
                            ingot_matmul_desc matmul) {
      std::vector<float> own(matmul.m * matmul.n, NAN), expected = own;
      matmul.batch = 1;
      matmul.math = d.math;
      matmul.a_type = matmul.b_type = matmul.c_type = INGOT_F32;
      ingot_context context;
      entry(&context, &d, first.data(), second.data(), own.data(), nullptr);
      ingot_matmul(&context, &matmul, first.data(), second.data(), nullptr,
                   nullptr, expected.data(), nullptr);
      ASSERT_FALSE(context.failed) << context.message;
      EXPECT_EQ(own, expected);
    };
    ingot_matmul_desc forward = {}, inputGrad = {}, filterGrad = {};
    forward.m = inputGrad.m = filterGrad.k = pixels;
    forward.n = inputGrad.k = filterGrad.m = d.out_channels;
    forward.k = inputGrad.n = filterGrad.n = d.in_channels;
    forward.transpose_b = filterGrad.transpose_a = 1;
    if (pixels < d.out_channels || math == INGOT_MATH_STRASSEN) {
      expectMatmul(ingot_conv, input, filter, forward);
      expectMatmul(ingot_conv_input_grad, grad, filter, inputGrad);
    }
    expectMatmul(ingot_conv_filter_grad, grad, input, filterGrad);
  }
}

} // namespace
