// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What the sampler promises.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace ingot::runtime;

namespace {

std::vector<int64_t> getEpoch(Sampler &sampler, int64_t epoch) {
  std::vector<int64_t> all;
  int64_t batches = sampler.getBatchesPerEpoch();
  for (int64_t i = 0; i < batches; ++i)
    for (int64_t sample : sampler.getBatch(epoch * batches + i).samples)
      all.push_back(sample);
  return all;
}

TEST(Sampler, InOrderWithoutShuffle) {
  Sampler sampler({10}, 3, /*shuffle=*/false, 7);
  EXPECT_EQ(sampler.getBatchesPerEpoch(), 3);
  EXPECT_EQ(sampler.getDroppedPerEpoch(), 1);
  EXPECT_EQ(sampler.getBatch(0).samples, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(sampler.getBatch(2).samples, (std::vector<int64_t>{6, 7, 8}));
  EXPECT_EQ(sampler.getBatch(3).samples, (std::vector<int64_t>{0, 1, 2}));
}

TEST(Sampler, EverySampleAtMostOncePerEpoch) {
  Sampler sampler({103}, 10, /*shuffle=*/true, 1);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<int64_t> all = getEpoch(sampler, epoch);
    EXPECT_EQ(all.size(), 100u);
    std::set<int64_t> distinct(all.begin(), all.end());
    EXPECT_EQ(distinct.size(), 100u);
    EXPECT_GE(*distinct.begin(), 0);
    EXPECT_LT(*distinct.rbegin(), 103);
  }
}

TEST(Sampler, EpochsAndSeedsDiffer) {
  Sampler one({50}, 5, true, 1), two({50}, 5, true, 2);
  EXPECT_NE(getEpoch(one, 0), getEpoch(one, 1));
  EXPECT_NE(getEpoch(one, 0), getEpoch(two, 0));
}

TEST(Sampler, AFunctionOfTheStep) {
  Sampler straight({50}, 5, true, 3), jumping({50}, 5, true, 3);
  std::vector<std::vector<int64_t>> batches;
  for (int64_t step = 0; step < 30; ++step)
    batches.push_back(straight.getBatch(step).samples);
  for (int64_t step : {29, 0, 17, 3, 25})
    EXPECT_EQ(jumping.getBatch(step).samples, batches[step]);
}

TEST(Sampler, ABatchIsOfOneGroup) {
  for (bool shuffle : {false, true}) {
    Sampler sampler({7, 1, 9}, 2, shuffle, 5);
    EXPECT_EQ(sampler.getBatchesPerEpoch(), 7);
    EXPECT_EQ(sampler.getDroppedPerEpoch(), 3);
    std::vector<size_t> order;
    std::set<std::pair<size_t, int64_t>> distinct;
    for (int64_t step = 0; step < 7; ++step) {
      Sampler::Batch batch = sampler.getBatch(step);
      order.push_back(batch.group);
      for (int64_t sample : batch.samples)
        distinct.insert({batch.group, sample});
    }
    EXPECT_EQ(distinct.size(), 14u);
    EXPECT_EQ(std::count(order.begin(), order.end(), 0u), 3);
    EXPECT_EQ(std::count(order.begin(), order.end(), 2u), 4);
    EXPECT_EQ(std::is_sorted(order.begin(), order.end()), !shuffle);
  }
}

TEST(Sampler, TheSameBitsEverywhere) {
  // A change here changes what users' runs compute: seeds are promises.
  Sampler sampler({8}, 8, true, 42);
  EXPECT_EQ(sampler.getBatch(0).samples,
            (std::vector<int64_t>{7, 2, 5, 1, 4, 0, 3, 6}));
}

TEST(Sampler, EveryPlaceIsEquallyLikely) {
  constexpr int64_t samples = 5, epochs = 5000;
  Sampler sampler({samples}, samples, true, 9);
  int64_t count[samples][samples] = {};
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    std::vector<int64_t> order = sampler.getBatch(epoch).samples;
    for (int64_t i = 0; i < samples; ++i)
      ++count[i][order[i]];
  }
  for (auto &row : count)
    for (int64_t n : row)
      EXPECT_NEAR(n, epochs / samples, 150);
}

} // namespace
