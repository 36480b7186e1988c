// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Convolutions and their gradients in 16 bits against sums in double.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Context.h"
#include "runtime/core/machine/Features.h"
#include "runtime/cpu/convolution/ReferenceConvolution.h"
#include "runtime/cpu/direct/kernels/DirectKernels.h"
#include "runtime/cpu/gemm/RunGemm.h"
#include "runtime/cpu/plan/ConvolutionAlgorithms.h"
#include "runtime/cpu/threads/ThreadPool.h"
#include "runtime/cpu/vectors/HalfPrecision.h"
#include "runtime/cpu/vectors/TileUnits.h"
#include "test/runtime/cpu/convolution/ConvolutionCases.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

using namespace ingot::runtime;
using namespace ingot::runtime::tests;

namespace {

/// Draws a convolution that is computed as a product, at least in part, and in
/// several parts.
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
    drawWindow(random, d, i, /*kernel=*/4, /*stride=*/2);
    int64_t outputs = 1 + random.below(4);
    int64_t inputs = (outputs - 1) * d.stride[i] + getReach(d, i) + 1 -
                     d.pad_low[i] - d.pad_high[i];
    // Windows that lie outside, and pixels that no window reaches.
    d.in[i] = std::max<int64_t>(1, inputs + random.below(d.stride[i]));
    setOutput(d, i);
  }
  return d;
}

/// Draws a convolution that Winograd's algorithm computes.
ingot_conv_desc drawHalfWinogradDesc(Philox &random, ingot_dtype type) {
  ingot_conv_desc d = drawWinogradDesc(random, INGOT_F32);
  d.type = type;
  EXPECT_TRUE(ingot::cpu::isWinograd(d));
  return d;
}

/// NaN in either type of 16 bits. Elements around operands and in scratch
/// memory are NaN, so that sums are if they have a part in them.
constexpr uint16_t kNaN = 0x7fff;
constexpr int64_t kMargin = 64;

/// Compares convolutions in 16 bits with sums in double. Operands are what 16
/// bits hold, so that all that differs is the order of sums in f32 and the
/// rounding of the result. Counts how many of each kind were chosen.
void checkHalves(
    ingot_dtype type, int cases, Draw drawDesc,
    const std::function<bool(ingot_conv_desc &, ingot::cpu::ConvKind)> &choose,
    std::array<int, 3> &counts) {
  double tolerance = type == INGOT_BF16 ? 0x1p-8 : 0x1p-11;
  Philox random(7, 8);
  for (int i = 0; i < cases; ++i) {
    ingot_conv_desc d = drawDesc(random, type);
    struct Tensor {
      std::vector<uint16_t> half;
      std::vector<float> wide;
      const uint16_t *getData() const { return half.data() + kMargin; }
    };
    auto draw = [&](int64_t count) {
      Tensor tensor = {std::vector<uint16_t>(count + 2 * kMargin, kNaN),
                       std::vector<float>(count)};
      for (float &value : tensor.wide)
        value = static_cast<float>(random.normal());
      uint16_t *half = tensor.half.data() + kMargin;
      roundFromF32(tensor.wide.data(), half, type, count);
      widenToF32(half, type, tensor.wide.data(), count);
      return tensor;
    };
    Tensor input =
        draw(d.batch * d.in_channels * product(d.in, d.spatial_rank));
    Tensor output =
        draw(d.batch * d.out_channels * product(d.out, d.spatial_rank));
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
      auto which = static_cast<ingot::cpu::ConvKind>(kind);
      if (!choose(d, which))
        continue;
      ++counts[kind];
      Block scratch(d.scratch_bytes, "scratch");
      std::memset(scratch.getData(), 0xff, d.scratch_bytes);
      const std::vector<double> &expected = sums[kind];
      std::vector<uint16_t> result(expected.size(), kNaN);
      ingot_context context;
      entries[kind](&context, &d, operands[kind][0]->getData(),
                    operands[kind][1]->getData(), result.data(),
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
  std::array<int, 3> counts = {};
  checkHalves(
      GetParam(), 24, drawTileDesc,
      [&](ingot_conv_desc &d, ingot::cpu::ConvKind kind) {
        d.math = INGOT_MATH_TILES;
        d.scratch_bytes =
            ingot::cpu::Im2colGemm(d, kind, getThreadCount()).getScratchBytes();
        return isIm2col(d, kind);
      },
      counts);
  for (int count : counts)
    EXPECT_GT(count, 3);
}

// Other forms are direct in bf16, or a matmul of pixels in either type.
TEST_P(TileConvolution, EveryOtherForm) {
  if (!hasTileUnits())
    GTEST_SKIP() << "this processor has no tile units";
  ingot::cpu::ScratchMachine machine;
  machine.threads = getThreadCount();
  machine.tilesHalves = true;
  std::array<int, 3> counts = {};
  for (Draw draw : {drawDesc, drawDirectDesc, drawPointwiseDesc,
                    drawStridedPointwiseDesc, drawHalfWinogradDesc})
    checkHalves(
        GetParam(), 16, draw,
        [&](ingot_conv_desc &d, ingot::cpu::ConvKind kind) {
          d.math = getMath(d, kind, machine);
          d.scratch_bytes = ingot::cpu::getScratchBytes(d, machine);
          return d.math == INGOT_MATH_TILES && !isIm2col(d, kind);
        },
        counts);
  for (int count : counts)
    EXPECT_GT(count, GetParam() == INGOT_BF16 ? 40 : 10);
}

class HalfConvolution : public testing::TestWithParam<ingot_dtype> {};

TEST_P(HalfConvolution, EveryForm) {
  std::array<int, 3> counts = {};
  for (Draw draw :
       {drawDesc, drawDirectDesc, drawDepthwiseDesc, drawPointwiseDesc,
        drawStridedPointwiseDesc, drawHalfWinogradDesc})
    checkHalves(
        GetParam(), 16, draw,
        [](ingot_conv_desc &d, ingot::cpu::ConvKind) {
          d.scratch_bytes = ingot::cpu::getScratchBytes(d, {getThreadCount()});
          return true;
        },
        counts);
}

TEST_P(HalfConvolution, WinogradNeedsNoWideOperands) {
  Philox random(7, 9);
  for (int i = 0; i < 16; ++i) {
    ingot_conv_desc d = drawHalfWinogradDesc(random, GetParam());
    ingot_conv_desc wide = d;
    wide.type = INGOT_F32;
    EXPECT_LE(ingot::cpu::getScratchBytes(d, {2}),
              ingot::cpu::getScratchBytes(wide, {2}));
  }
}

// Widening is exact: the bits are those of a convolution in f32, rounded.
TEST_P(HalfConvolution, WinogradRoundsOnce) {
  Philox random(7, 11);
  for (int i = 0; i < 8; ++i) {
    ingot_conv_desc d = drawHalfWinogradDesc(random, GetParam()), wide = d;
    wide.type = INGOT_F32;
    int64_t inputs = d.batch * d.in_channels * product(d.in, d.spatial_rank);
    int64_t filters =
        d.out_channels * d.in_channels * product(d.kernel, d.spatial_rank);
    int64_t outputs = d.batch * d.out_channels * product(d.out, d.spatial_rank);
    auto draw = [&](int64_t count) {
      std::vector<uint16_t> halves(count);
      std::vector<float> values(count);
      for (float &value : values)
        value = static_cast<float>(random.normal());
      roundFromF32(values.data(), halves.data(), d.type, count);
      widenToF32(halves.data(), d.type, values.data(), count);
      return std::pair(halves, values);
    };
    auto [input, wideInput] = draw(inputs);
    auto [filter, wideFilter] = draw(filters);
    std::vector<uint16_t> result(outputs), rounded(outputs);
    std::vector<float> sums(outputs);
    ingot_context context;
    ingot_conv(&context, &d, input.data(), filter.data(), result.data(),
               nullptr);
    ingot_conv(&context, &wide, wideInput.data(), wideFilter.data(),
               sums.data(), nullptr);
    ASSERT_FALSE(context.failed) << context.message;
    roundFromF32(sums.data(), rounded.data(), d.type, outputs);
    EXPECT_EQ(result, rounded);
  }
}

#ifdef __x86_64__
/// Tiles of pairs, along rows and along columns of the left operand.
TEST(DirectConvolution, PairsAreMultiplied) {
  if (!gemm::multipliesBf16())
    GTEST_SKIP() << "this processor does not multiply bf16";
  constexpr int64_t rows = 5, length = 19, lanes = 16;
  Philox random(7, 10);
  auto draw = [&](int64_t pairs) {
    std::vector<float> wide(2 * pairs), packed(pairs);
    for (float &value : wide)
      value = static_cast<float>(random.below(256)) / 128 - 1;
    roundFromF32(wide.data(), packed.data(), INGOT_BF16, 2 * pairs);
    return std::pair(wide, packed);
  };
  auto [a, packedA] = draw(rows * length);
  auto [b, packedB] = draw(length * lanes);
  for (bool byColumns : {false, true}) {
    std::vector<float> c(rows * lanes);
    const float *left = packedA.data(), *right = packedB.data();
    direct::Tile tile = {};
    tile.segments = tile.vectors = 1;
    tile.length = length;
    tile.a = &left;
    tile.b = &right;
    tile.aStep = byColumns ? rows : length;
    tile.c = c.data();
    tile.bStep = tile.cStep = tile.columns = lanes;
    tile.rows = rows;
    (byColumns ? direct::dotKernels.multiplyColumns
               : direct::dotKernels.multiplyRows)(tile);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < lanes; ++column) {
        double sum = 0;
        for (int64_t i = 0; i < 2 * length; ++i) {
          int64_t pair = i / 2,
                  at = byColumns ? pair * rows + row : row * length + pair;
          sum += a[2 * at + i % 2] * b[2 * (pair * lanes + column) + i % 2];
        }
        EXPECT_NEAR(c[row * lanes + column], sum, 1e-4);
      }
  }
}
#endif

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
