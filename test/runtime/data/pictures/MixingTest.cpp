// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Mixtures of samples and their labels, and the loops over pixels.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/recipes/Mixing.h"
#include "runtime/core/Random.h"
#include "runtime/data/pictures/PixelLoops.h"
#include "test/runtime/TestSupport.h"

#include <cmath>
#include <cstring>

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {

constexpr int64_t kSide = 8;

class MixingTest : public testing::Test {
protected:
  void setUp(const char *steps) {
    InputSpec x, labels;
    x.name = "x";
    x.shape = {2, 1, kSide, kSide};
    labels.name = "labels";
    labels.kind = InputKind::Labels;
    labels.shape = {2, 3};
    labels.offset = x.getAlignedBytes();
    inputs = {x, labels};
    recipes.emplace("x", Recipe::parse("x", steps));
    recipes.emplace("labels", Recipe::parse("labels", "one-hot"));
  }

  /// Mixes a row of ones of class 0 with a row of threes of class 2.
  void mix(int64_t sample) {
    for (int64_t i = 0; i < 2 * kSide * kSide; ++i)
      x[i] = i < kSide * kSide ? 1.0F : 3.0F;
    std::copy_n(std::begin({1.0F, 0.0F, 0.0F, 0.0F, 0.0F, 1.0F}), 6, labels);
    std::vector<char> arena(inputs[1].offset + inputs[1].getAlignedBytes());
    std::memcpy(arena.data(), x, sizeof(x));
    std::memcpy(arena.data() + inputs[1].offset, labels, sizeof(labels));
    Workspace workspace;
    SampleContext first, second;
    first.sample = 2 * sample;
    second.sample = 2 * sample + 1;
    mixRows(inputs, recipes, first, second, 0, arena.data(), workspace);
    std::memcpy(x, arena.data(), sizeof(x));
    std::memcpy(labels, arena.data() + inputs[1].offset, sizeof(labels));
  }

  std::vector<InputSpec> inputs;
  Recipes recipes;
  float x[2 * kSide * kSide], labels[6];
};

TEST_F(MixingTest, MixupIsAWeightedMean) {
  setUp("mixup:0.2");
  double sum = 0;
  int extremes = 0;
  constexpr int samples = 400;
  for (int64_t sample = 0; sample < samples; ++sample) {
    mix(sample);
    for (int side : {0, 1}) {
      float own = labels[side * 3 + side * 2];
      EXPECT_NEAR(labels[side * 3] + labels[side * 3 + 2], 1, 1e-6);
      EXPECT_EQ(labels[side * 3 + 1], 0);
      float want = side == 0 ? own + 3 * (1 - own) : 3 * own + (1 - own);
      for (int64_t i = 0; i < kSide * kSide; ++i)
        EXPECT_NEAR(x[side * kSide * kSide + i], want, 1e-5);
      sum += own;
      extremes += own < 0.1 || own > 0.9;
    }
  }
  // Beta(0.2, 0.2) has the mean 1/2, and two thirds of it at the ends.
  EXPECT_NEAR(sum / (2 * samples), 0.5, 0.06);
  EXPECT_NEAR(extremes / (2.0 * samples), 0.66, 0.06);
}

TEST_F(MixingTest, CutmixTakesAnArea) {
  setUp("cutmix:1");
  bool hasSome = false;
  for (int64_t sample = 0; sample < 100; ++sample) {
    mix(sample);
    for (int side : {0, 1}) {
      int64_t taken = 0;
      for (int64_t i = 0; i < kSide * kSide; ++i) {
        float value = x[side * kSide * kSide + i];
        EXPECT_TRUE(value == 1 || value == 3);
        taken += value == (side == 0 ? 3 : 1);
      }
      EXPECT_NEAR(labels[side * 3 + side * 2],
                  1 - static_cast<double>(taken) / (kSide * kSide), 1e-6);
      hasSome |= taken > 0 && taken < kSide * kSide;
    }
  }
  EXPECT_TRUE(hasSome);
}

TEST_F(MixingTest, LabelsHaveToBeProbabilities) {
  setUp("mixup:0.2");
  inputs[1].dtype = DType::I64;
  EXPECT_INGOT_ERROR(ExitCode::Usage, "need 'labels' as probabilities",
                     findMixed(inputs, recipes));
  for (const char *text :
       {"mixup", "mixup:0", "mixup:x", "smooth:0.1", "one-hot,smooth:1",
        "one-hot:0", "one-hot,flip", "bytes,mixup:1"})
    EXPECT_INGOT_ERROR(ExitCode::Usage, "--input x", Recipe::parse("x", text));
}

TEST_F(MixingTest, LabelsAreSmoothed) {
  setUp("decode");
  Recipe recipe = Recipe::parse("labels", "one-hot:3,smooth:0.3");
  recipe.check(inputs[1]);
  Workspace workspace;
  Value value;
  int64_t label = 1;
  value.dtype = DType::I64;
  value.bytes = {reinterpret_cast<char *>(&label), sizeof(label)};
  float made[3];
  auto apply = [&] {
    recipe.apply(value, inputs[1], reinterpret_cast<char *>(made), {},
                 workspace, "a.cls");
  };
  apply();
  EXPECT_FLOAT_EQ(made[0], 0.1F);
  EXPECT_FLOAT_EQ(made[1], 0.8F);
  EXPECT_FLOAT_EQ(made[2], 0.1F);
  label = 3;
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "the label is 3, outside 0 to 2",
                     apply());
  EXPECT_INGOT_ERROR(ExitCode::Usage, "other classes",
                     Recipe::parse("labels", "one-hot:4").check(inputs[1]));
}

/// The loops of this processor give the bytes of the plain ones.
TEST(PixelLoops, BuildsAgree) {
  const PixelLoops &plain = getPlainPixelLoops(), &fast = getPixelLoops();
  Philox random(1, 2);
  for (int64_t trial = 0; trial < 200; ++trial) {
    auto pixels = static_cast<int64_t>(1 + random.below(70));
    auto taps = static_cast<int64_t>(1 + random.below(9));
    int64_t bytes = pixels * 4;
    std::vector<uint8_t> rows(static_cast<size_t>(bytes * taps + kRowSlack));
    for (uint8_t &byte : rows)
      byte = static_cast<uint8_t>(random.next());
    int64_t padded = (taps + kTapGroup - 1) / kTapGroup * kTapGroup;
    std::vector<int16_t> weights(static_cast<size_t>(padded));
    int64_t left = int64_t(1) << kWeightBits;
    for (int64_t t = 0; t < taps; ++t) {
      int64_t some = t + 1 == taps ? left
                                   : static_cast<int64_t>(random.below(
                                         static_cast<uint64_t>(left + 1)));
      weights[static_cast<size_t>(t)] = static_cast<int16_t>(some);
      left -= some;
    }
    std::vector<uint8_t> want(static_cast<size_t>(bytes)), got(want);
    plain.reduceRows(rows.data(), bytes, weights.data(), taps, want.data(),
                     bytes);
    fast.reduceRows(rows.data(), bytes, weights.data(), taps, got.data(),
                    bytes);
    EXPECT_EQ(got, want) << pixels << " pixels, " << taps << " rows";
    std::vector<Tap> places;
    for (int64_t i = 0; i < pixels; ++i)
      places.push_back({i, std::min(taps, pixels * taps - i), 0});
    plain.reduceColors(rows.data(), places.data(), weights.data(), want.data(),
                       pixels);
    fast.reduceColors(rows.data(), places.data(), weights.data(), got.data(),
                      pixels);
    EXPECT_EQ(got, want) << pixels << " pixels, " << taps << " columns";
    for (bool isFlipped : {false, true})
      for (int color : {0, 1, 2}) {
        const uint8_t *first = rows.data() + (isFlipped ? bytes - 4 : 0);
        std::vector<float> floats(static_cast<size_t>(pixels)), others(floats);
        plain.convertColor(first, color, isFlipped, 0.3F, -1.7F, floats.data(),
                           pixels);
        fast.convertColor(first, color, isFlipped, 0.3F, -1.7F, others.data(),
                          pixels);
        EXPECT_EQ(floats, others) << pixels << ", " << color << isFlipped;
      }
  }
}

} // namespace
