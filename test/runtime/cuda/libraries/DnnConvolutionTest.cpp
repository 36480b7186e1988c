// SPDX-License-Identifier: Apache-2.0

// Which kernels cuDNN, if it is installed, has for our descriptions of
// convolutions: it chooses for a GPU that is described, not there.

#include "passes/targets/cuda/target/LibraryScratch.h"
#include "runtime/cuda/libraries/Dnn.h"
#include "test/runtime/cuda/libraries/DescribedGpus.h"
#include "gtest/gtest.h"

#include <ostream>
#include <set>

using namespace ingot::runtime;
using namespace ingot::testing;

namespace {

struct Case {
  const char *name;
  int64_t batch, inChannels, extent, outChannels, kernel, stride;
  int64_t groups = 1;

  friend void PrintTo(const Case &of, std::ostream *out) { *out << of.name; }
};

enum class Order { First, Last };

ingot_conv_desc describe(const Case &of, int32_t type, Order order) {
  ingot_conv_desc desc = {};
  desc.spatial_rank = 2;
  desc.batch = of.batch;
  desc.in_channels = of.inChannels;
  desc.out_channels = of.outChannels;
  desc.groups = of.groups;
  for (int i = 0; i < 2; ++i) {
    desc.in[i] = of.extent;
    desc.kernel[i] = of.kernel;
    desc.stride[i] = of.stride;
    desc.dilation[i] = 1;
    desc.pad_low[i] = desc.pad_high[i] = of.kernel / 2;
    desc.out[i] = (of.extent + of.kernel / 2 * 2 - of.kernel) / of.stride + 1;
  }
  desc.type = type;
  desc.channels_last = desc.filter_channels_last = order == Order::Last;
  return desc;
}

/// Calls `check(gpu, result)` for each GPU, convolution and gradient.
template <typename Check> void forEachPlan(Check check) {
  for (bool isHopper : {true, false})
    for (auto [name, result] :
         {std::pair{"forward", ConvolutionResult::Output},
          {"by the input", ConvolutionResult::InputGrad},
          {"by the filter", ConvolutionResult::FilterGrad}}) {
      SCOPED_TRACE(std::string(isHopper ? "sm_90 " : "sm_80 ") + name);
      check(describeGpu(isHopper), result);
    }
}

/// The scratch that the compiler plans for a convolution on a device.
ingot_conv_desc withScratch(ingot_conv_desc desc) {
  constexpr int64_t workspace = 32 << 20;
  desc.scratch_bytes =
      workspace + ingot::cuda::getCopyBytes(desc, /*roundsF32=*/false);
  return desc;
}

class DnnConvolutionPlans : public ::testing::TestWithParam<Case> {};

/// Returns the convolution with f32 that may be rounded.
ingot_conv_desc withTf32Scratch(ingot_conv_desc desc) {
  constexpr int64_t workspace = 32 << 20;
  desc.math = INGOT_MATH_TF32;
  desc.scratch_bytes =
      workspace + ingot::cuda::getCopyBytes(desc, /*roundsF32=*/true);
  return desc;
}

// In the memory that the compiler plans there are kernels on tensor cores.
TEST_P(DnnConvolutionPlans, AreOnTensorCores) {
  if (!findDnn())
    GTEST_SKIP() << "cuDNN is not installed";
  forEachPlan([&](const std::string &gpu, ConvolutionResult result) {
    for (int32_t type : {INGOT_BF16, INGOT_F16}) {
      ingot_conv_desc desc =
          withScratch(describe(GetParam(), type, Order::Last));
      EXPECT_TRUE(chooseConvolution(desc, result, gpu).onTensorCores);
    }
    ingot_conv_desc desc =
        withTf32Scratch(describe(GetParam(), INGOT_F32, Order::Last));
    EXPECT_TRUE(chooseConvolution(desc, result, gpu).onTensorCores);
  });
}

// Of resnet18 at 224 x 224 all but the shortcut's, for which the first choice
// on sm_90 is a kernel beside tensor cores.
INSTANTIATE_TEST_SUITE_P(
    , DnnConvolutionPlans,
    ::testing::Values(Case{"stem", 32, 3, 224, 64, 7, 2},
                      Case{"stem_of_many", 256, 3, 224, 64, 7, 2},
                      Case{"stage1", 32, 64, 56, 64, 3, 1},
                      Case{"stage1_of_many", 256, 64, 56, 64, 3, 1},
                      Case{"stage2_first", 32, 64, 56, 128, 3, 2},
                      Case{"stage2", 32, 128, 28, 128, 3, 1},
                      Case{"stage3_first", 32, 128, 28, 256, 3, 2},
                      Case{"stage3", 32, 256, 14, 256, 3, 1},
                      Case{"stage4_first", 32, 256, 14, 512, 3, 2},
                      Case{"stage4", 32, 512, 7, 512, 3, 1},
                      Case{"odd", 32, 60, 56, 20, 3, 1},
                      Case{"grouped", 32, 64, 56, 64, 3, 1, 4}),
    [](const auto &info) { return info.param.name; });

// Operands in the order of tensor cores are read where they are: channels first
// they would be copied.
TEST(DnnConvolution, TakesChannelsLastAsTheyAre) {
  if (!findDnn())
    GTEST_SKIP() << "cuDNN is not installed";
  const Case stage = {"stage1", 32, 64, 56, 64, 3, 1};
  int64_t data = stage.batch * stage.extent * stage.extent * 64 * 2;
  forEachPlan([&](const std::string &gpu, ConvolutionResult result) {
    auto choose = [&](Order order) {
      return chooseConvolution(withScratch(describe(stage, INGOT_BF16, order)),
                               result, gpu);
    };
    EXPECT_LT(choose(Order::Last).workspaceBytes, data / 8);
    EXPECT_GE(choose(Order::First).workspaceBytes, 2 * data);
  });
}

// Tensor cores round f32: other kernels compute that, and take channels first
// as they are.
TEST(DnnConvolution, KeepsF32) {
  if (!findDnn())
    GTEST_SKIP() << "cuDNN is not installed";
  const Case stage = {"stage1", 32, 64, 56, 64, 3, 1};
  forEachPlan([&](const std::string &gpu, ConvolutionResult result) {
    ConvolutionChoice choice = chooseConvolution(
        withScratch(describe(stage, INGOT_F32, Order::First)), result, gpu);
    EXPECT_FALSE(choice.onTensorCores);
    EXPECT_LT(choice.workspaceBytes, 1 << 20);
    // One that is kept in f32 among others.
    EXPECT_NO_THROW(chooseConvolution(
        withScratch(describe(stage, INGOT_F32, Order::Last)), result, gpu));
  });
}

// Rounded f32: channels last leave sm_90 nothing to copy, and less to earlier
// GPUs, whose kernels copy one side or both in either order.
TEST(DnnConvolution, PrefersChannelsLastInTf32) {
  if (!findDnn())
    GTEST_SKIP() << "cuDNN is not installed";
  for (const Case &stage : {Case{"stage1", 32, 64, 56, 64, 3, 1},
                            Case{"stage2_first", 32, 64, 56, 128, 3, 2},
                            Case{"stage2", 32, 128, 28, 128, 3, 1},
                            Case{"stage3", 32, 256, 14, 256, 3, 1},
                            Case{"stage4", 32, 512, 7, 512, 3, 1}})
    forEachPlan([&](const std::string &gpu, ConvolutionResult result) {
      SCOPED_TRACE(stage.name);
      auto choose = [&](Order order) {
        ingot_conv_desc desc = describe(stage, INGOT_F32, order);
        desc.math = INGOT_MATH_TF32;
        desc.scratch_bytes = int64_t(1) << 30;
        return chooseConvolution(desc, result, gpu);
      };
      ConvolutionChoice first = choose(Order::First),
                        last = choose(Order::Last);
      EXPECT_TRUE(first.onTensorCores && last.onTensorCores);
      EXPECT_LE(last.workspaceBytes, first.workspaceBytes);
      if (gpu == describeGpu(/*isHopper=*/true))
        EXPECT_LT(last.workspaceBytes, 3 << 19);
    });
}

// What --tune keeps of an algorithm says which it is.
TEST(DnnConvolution, FindsAlgorithmsByName) {
  if (!findDnn())
    GTEST_SKIP() << "cuDNN is not installed";
  const Case stage = {"stage2", 32, 128, 28, 128, 3, 1};
  ingot_conv_desc desc = withScratch(describe(stage, INGOT_BF16, Order::Last));
  forEachPlan([&](const std::string &gpu, ConvolutionResult result) {
    std::vector<ConvolutionChoice> all = listConvolutions(desc, result, gpu);
    EXPECT_GT(all.size(), 1U);
    EXPECT_LE(all.size(), 8U);
    EXPECT_EQ(all.front().name, chooseConvolution(desc, result, gpu).name);
    std::set<std::string> names;
    for (const ConvolutionChoice &choice : all) {
      EXPECT_TRUE(names.insert(choice.name).second) << choice.name;
      std::vector<ConvolutionChoice> found =
          listConvolutions(desc, result, gpu, choice.name);
      ASSERT_EQ(found.size(), 1U) << choice.name;
      EXPECT_EQ(found[0].name, choice.name);
      EXPECT_EQ(found[0].workspaceBytes, choice.workspaceBytes);
    }
    EXPECT_TRUE(listConvolutions(desc, result, gpu, "none").empty());
  });
}

TEST(DnnConvolution, SaysWhatDoesNotFit) {
  if (!findDnn())
    GTEST_SKIP() << "cuDNN is not installed";
  ingot_conv_desc desc =
      describe({"shortcut", 32, 64, 56, 128, 1, 2}, INGOT_BF16, Order::Last);
  // Less than any engine wants.
  desc.scratch_bytes = -1;
  EXPECT_THROW(
      chooseConvolution(desc, ConvolutionResult::Output, describeGpu(true)),
      Error);
  EXPECT_NO_THROW(chooseConvolution(
      withScratch(desc), ConvolutionResult::Output, describeGpu(true)));
}

} // namespace
