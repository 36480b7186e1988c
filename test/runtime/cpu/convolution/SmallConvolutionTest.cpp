// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Convolutions of few operations, which run on one thread: the bits of their
// gradients do not depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Context.h"
#include "runtime/cpu/plan/ConvolutionAlgorithms.h"
#include "runtime/cpu/threads/ThreadPool.h"

#include <gtest/gtest.h>

#include <vector>

using namespace ingot::runtime;

namespace {

std::vector<float> draw(int64_t count) {
  static uint32_t state = 1;
  std::vector<float> values(count);
  for (float &value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) / (1 << 24) - 0.5f;
  }
  return values;
}

TEST(SmallConvolution, FilterGradHasTheSameBitsForAnyNumberOfThreads) {
  // The first layer of the digits example.
  ingot_conv_desc d = {};
  d.type = INGOT_F32;
  d.batch = 64;
  d.in_channels = 1;
  d.out_channels = 16;
  d.groups = 1;
  d.spatial_rank = 2;
  for (int64_t i = 0; i < 2; ++i) {
    d.in[i] = d.out[i] = 8;
    d.kernel[i] = 3;
    d.stride[i] = d.dilation[i] = d.pad_low[i] = d.pad_high[i] = 1;
  }
  std::vector<float> input = draw(64 * 64), output = draw(64 * 64 * 16);
  int before = getThreadCount();
  std::vector<std::vector<float>> results;
  for (int threads : {1, 2, 5}) {
    setThreadCount(threads);
    d.scratch_bytes = ingot::cpu::getScratchBytes(d, {threads});
    Block scratch(d.scratch_bytes, "scratch");
    std::vector<float> &filter = results.emplace_back(16 * 9);
    ingot_context context;
    ingot_conv_filter_grad(&context, &d, output.data(), input.data(),
                           filter.data(), scratch.getData());
    EXPECT_FALSE(context.failed) << context.message;
    EXPECT_EQ(context.getUnplannedBytes(), 0u);
  }
  setThreadCount(before);
  EXPECT_EQ(results[1], results[0]);
  EXPECT_EQ(results[2], results[0]);
}

} // namespace
