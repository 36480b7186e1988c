// SPDX-License-Identifier: Apache-2.0

// Which convolutions cuDNN, if it is installed, fuses with normalizations for
// GPUs that are described: all that the compiler asks for.

#include "passes/targets/cuda/convolutions/LibraryFusion.h"
#include "runtime/cuda/libraries/Dnn.h"
#include "test/runtime/cuda/libraries/DescribedGpus.h"
#include "gtest/gtest.h"

#include <string>

using namespace ingot::runtime;
using namespace ingot::testing;

namespace {

constexpr int64_t kScratch = 32 << 20;

ingot_conv_desc describe(int64_t inChannels, int64_t extent,
                         int64_t outChannels, int64_t kernel, int64_t stride) {
  ingot_conv_desc desc = {};
  desc.spatial_rank = 2;
  desc.batch = 32;
  desc.in_channels = inChannels;
  desc.out_channels = outChannels;
  desc.groups = 1;
  for (int i = 0; i < 2; ++i) {
    desc.in[i] = extent;
    desc.kernel[i] = kernel;
    desc.stride[i] = stride;
    desc.dilation[i] = 1;
    desc.pad_low[i] = desc.pad_high[i] = kernel / 2;
    desc.out[i] = (extent + kernel / 2 * 2 - kernel) / stride + 1;
  }
  desc.type = INGOT_F16;
  desc.channels_last = desc.filter_channels_last = 1;
  desc.scratch_bytes = kScratch;
  return desc;
}

/// Whether cuDNN has the three calls: sums of a result, the same of a
/// normalized input, and the gradient by the filter.
testing::AssertionResult hasFusions(const ingot_conv_desc &desc,
                                    bool isHopper) {
  struct Call {
    const char *name;
    ConvolutionResult result;
    ConvolutionFusion fusion;
  };
  for (const Call &call :
       {Call{"sums", ConvolutionResult::Output, {false, true}},
        Call{"normalized", ConvolutionResult::Output, {true, true}},
        Call{"gradient", ConvolutionResult::FilterGrad, {true, false}}})
    try {
      chooseConvolution(desc, call.result, describeGpu(isHopper), call.fusion);
    } catch (const Error &error) {
      return testing::AssertionFailure() << call.name << ": " << error.what()
                                         << (isHopper ? " sm_90" : " sm_80");
    }
  return testing::AssertionSuccess();
}

// Of resnet50 at 224 x 224 all but the first one, of three channels.
TEST(DnnFusion, HasThoseOfResnet50) {
  if (!findDnn())
    GTEST_SKIP() << "cuDNN is not installed";
  int64_t in = 64, extent = 56;
  for (int64_t width : {64, 128, 256, 512}) {
    int64_t stride = width == 64 ? 1 : 2, out = 4 * width;
    for (const ingot_conv_desc &desc :
         {describe(in, extent, width, 1, 1),
          describe(width, extent, width, 3, stride),
          describe(in, extent, out, 1, stride),
          describe(width, extent / stride, out, 1, 1),
          describe(out, extent / stride, width, 1, 1),
          describe(width, extent / stride, width, 3, 1)}) {
      SCOPED_TRACE("channels " + std::to_string(desc.in_channels) + ", " +
                   std::to_string(desc.out_channels) + ", extent " +
                   std::to_string(desc.in[0]));
      for (bool isHopper : {true, false}) {
        EXPECT_STREQ(ingot::cuda::refuseFusion(desc, isHopper ? 90 : 80), "");
        EXPECT_TRUE(hasFusions(desc, isHopper));
      }
    }
    in = out;
    extent /= stride;
  }
}

// Windows, dilations and shapes at the limits of what the compiler asks for.
TEST(DnnFusion, HasWhatIsAskedFor) {
  if (!findDnn())
    GTEST_SKIP() << "cuDNN is not installed";
  ingot_conv_desc dilated = describe(64, 28, 64, 3, 1);
  for (int i = 0; i < 2; ++i)
    dilated.dilation[i] = dilated.pad_low[i] = dilated.pad_high[i] = 2;
  ingot_conv_desc line = describe(64, 28, 64, 3, 1);
  line.spatial_rank = 1;
  for (const ingot_conv_desc &desc :
       {describe(8, 28, 8, 3, 1), describe(24, 28, 40, 3, 1),
        describe(64, 28, 64, 5, 1), describe(64, 13, 64, 2, 1), dilated, line})
    for (bool isHopper : {true, false}) {
      EXPECT_STREQ(ingot::cuda::refuseFusion(desc, isHopper ? 90 : 80), "");
      EXPECT_TRUE(hasFusions(desc, isHopper));
    }
}

// What the compiler leaves to kernels the library refuses on one of the GPUs at
// least.
TEST(DnnFusion, RefusesWhatIsNotAskedFor) {
  if (!findDnn())
    GTEST_SKIP() << "cuDNN is not installed";
  ingot_conv_desc bf16 = describe(64, 28, 64, 3, 1);
  bf16.type = INGOT_BF16;
  ingot_conv_desc grouped = describe(64, 28, 64, 3, 1);
  grouped.groups = 4;
  ingot_conv_desc uneven = describe(64, 28, 64, 2, 1);
  for (int i = 0; i < 2; ++i) {
    uneven.pad_low[i] = 0;
    uneven.out[i] = 28;
  }
  ingot_conv_desc first = describe(64, 28, 64, 3, 1);
  first.channels_last = first.filter_channels_last = 0;
  for (const ingot_conv_desc &desc :
       {bf16, grouped, uneven, first, describe(64, 28, 64, 7, 2),
        describe(12, 28, 16, 3, 1), describe(16, 28, 12, 3, 1)}) {
    EXPECT_STRNE(ingot::cuda::refuseFusion(desc, 90), "");
    EXPECT_FALSE(hasFusions(desc, /*isHopper=*/true) &&
                 hasFusions(desc, /*isHopper=*/false));
  }
}

} // namespace
