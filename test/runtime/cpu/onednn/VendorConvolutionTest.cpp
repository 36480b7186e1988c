// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The vendor's convolutions on the threads of this runtime, against sums in
// double. Trainers call them for 16 bits on tile units; the library computes
// bf16 with AVX-512 too, and f32 on every CPU.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/ConvolutionScratch.h"
#include "runtime/core/Context.h"
#include "runtime/core/machine/Features.h"
#include "runtime/cpu/VendorLibrary.h"
#include "runtime/cpu/gemm/RunGemm.h"
#include "runtime/cpu/threads/ThreadPool.h"
#include "runtime/cpu/vectors/HalfPrecision.h"
#include "test/runtime/cpu/convolution/ConvolutionCases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

using namespace ingot::runtime;
using namespace ingot::runtime::tests;
using ingot::abi::ConvKind;

namespace {

/// Values that 16 bits hold, as they are and in the type of a convolution.
struct Tensor {
  Tensor(Philox &random, ingot_dtype type, int64_t count)
      : halves(count), values(count), type(type) {
    ingot_dtype rounded = type == INGOT_F32 ? INGOT_BF16 : type;
    for (float &value : values)
      value = static_cast<float>(random.normal());
    roundFromF32(values.data(), halves.data(), rounded, count);
    widenToF32(halves.data(), rounded, values.data(), count);
  }

  void *getData() {
    return type == INGOT_F32 ? static_cast<void *>(values.data())
                             : halves.data();
  }
  /// Returns the values after something has written to the data.
  const std::vector<float> &read() {
    if (type != INGOT_F32)
      widenToF32(halves.data(), type, values.data(),
                 static_cast<int64_t>(values.size()));
    return values;
  }

  std::vector<uint16_t> halves;
  std::vector<float> values;
  ingot_dtype type;
};

void check(ingot_dtype type, Draw draw, int threads) {
  double tolerance = type == INGOT_BF16  ? 0x1p-8
                     : type == INGOT_F16 ? 0x1p-11
                                         : 1e-6;
  setThreadCount(threads);
  Philox random(5, 6);
  ingot_context context;
  // Calls are cached by the address of their description.
  std::vector<ingot_conv_desc> descs(12);
  for (ingot_conv_desc &d : descs) {
    d = draw(random, type);
    int64_t inputs = d.batch * d.in_channels * product(d.in, d.spatial_rank);
    int64_t outputs = d.batch * d.out_channels * product(d.out, d.spatial_rank);
    int64_t taps = d.out_channels * (d.in_channels / d.groups) *
                   product(d.kernel, d.spatial_rank);
    Tensor input(random, type, inputs), output(random, type, outputs),
        filter(random, type, taps);
    std::vector<double> forward(outputs), inputGrad(inputs), filterGrad(taps);
    forEachProduct(d, [&](int64_t in, int64_t tap, int64_t out) {
      double x = input.values[in], w = filter.values[tap],
             y = output.values[out];
      forward[out] += x * w;
      inputGrad[in] += y * w;
      filterGrad[tap] += y * x;
    });
    // The second call finds the primitive in the cache.
    for (int repeat = 0; repeat < 2; ++repeat) {
      auto compare = [&](ConvKind kind, Tensor &first, Tensor &second,
                         const std::vector<double> &expected) {
        Tensor result(random, type, static_cast<int64_t>(expected.size()));
        ingot_vendor_convolve(&context, &d, static_cast<int32_t>(kind),
                              first.getData(), second.getData(),
                              result.getData(), nullptr);
        const std::vector<float> &actual = result.read();
        for (size_t i = 0; i < expected.size(); ++i)
          ASSERT_NEAR(actual[i], expected[i],
                      tolerance * std::fabs(expected[i]) + 1e-3)
              << "kind " << static_cast<int>(kind) << " at " << i << ": rank "
              << d.spatial_rank << ", groups " << d.groups << ", channels "
              << d.in_channels << " to " << d.out_channels << ", " << threads
              << " threads";
      };
      compare(ConvKind::Forward, input, filter, forward);
      compare(ConvKind::InputGrad, output, filter, inputGrad);
      compare(ConvKind::FilterGrad, output, input, filterGrad);
      if (testing::Test::HasFatalFailure())
        return;
    }
  }
}

class VendorConvolution : public testing::TestWithParam<ingot_dtype> {};

TEST_P(VendorConvolution, AgreesWithDouble) {
  if (GetParam() == INGOT_BF16 && getMaxCpuLevel() < ingot::abi::CpuLevel::V4)
    GTEST_SKIP() << "the library computes bf16 with AVX-512 only";
  if (GetParam() == INGOT_F16 && !hasTileUnits())
    GTEST_SKIP() << "the library computes fp16 with its instructions only";
  int before = getThreadCount();
  for (Draw draw : {drawDesc, drawDirectDesc, drawWinogradDesc,
                    drawStridedPointwiseDesc, drawDepthwiseDesc})
    for (int threads : {1, 2, 3})
      check(GetParam(), draw, threads);
  setThreadCount(before);
}

INSTANTIATE_TEST_SUITE_P(Types, VendorConvolution,
                         testing::Values(INGOT_F32, INGOT_BF16, INGOT_F16),
                         [](const auto &info) {
                           return info.param == INGOT_F32    ? "F32"
                                  : info.param == INGOT_BF16 ? "Bf16"
                                                             : "F16";
                         });

} // namespace
