// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Sources in proportions, and the order of batches across resumed runs.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Mixture.h"
#include "runtime/data/Sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

using namespace ingot::runtime;

namespace {

/// The samples of an epoch, by source.
std::map<int64_t, int64_t> countSources(Mixture &mixture, int64_t epoch,
                                        int64_t second) {
  std::map<int64_t, int64_t> counts;
  for (int64_t p = 0; p < mixture.getEpochSamples(); ++p)
    ++counts[mixture.getSample(epoch, p) >= second];
  return counts;
}

TEST(Mixture, IsExactInEveryEpoch) {
  for (bool shuffle : {false, true}) {
    Mixture mixture({1000, 90}, {0.7, 0.3}, shuffle, 5);
    EXPECT_EQ(mixture.getEpochSamples(), 300);
    for (int64_t epoch : {0, 1, 7}) {
      auto counts = countSources(mixture, epoch, 1000);
      EXPECT_EQ(counts[0], 210);
      EXPECT_EQ(counts[1], 90);
    }
  }
}

TEST(Mixture, TakesWeightsOfAnySize) {
  for (bool shuffle : {true, false}) {
    Mixture large({10, 10}, {1e308, 1e308}, shuffle, 5);
    EXPECT_EQ(large.getEpochSamples(), 20);
    Mixture unlike({10, 10}, {5e-324, 1e308}, shuffle, 5);
    EXPECT_EQ(unlike.getCounts(), (std::vector<int64_t>{0, 10}));
  }
}

TEST(Mixture, SeesEachSampleOfASourceBeforeAnyTwice) {
  Mixture mixture({100, 10}, {1, 1}, /*shuffle=*/true, 3);
  std::vector<int64_t> seen(110);
  for (int64_t epoch = 0; epoch < 10; ++epoch)
    for (int64_t p = 0; p < mixture.getEpochSamples(); ++p)
      ++seen[static_cast<size_t>(mixture.getSample(epoch, p))];
  EXPECT_EQ(std::count(seen.begin(), seen.begin() + 100, 1), 100);
  EXPECT_EQ(std::count(seen.begin() + 100, seen.end(), 10), 10);
}

TEST(Mixture, TakesTurnsWithoutShuffling) {
  Mixture mixture({6, 3}, {2, 1}, /*shuffle=*/false, 0);
  std::vector<int64_t> order;
  for (int64_t p = 0; p < 9; ++p)
    order.push_back(mixture.getSample(0, p));
  for (size_t third = 0; third < 9; third += 3)
    EXPECT_EQ(std::count_if(order.begin() + third, order.begin() + third + 3,
                            [](int64_t s) { return s >= 6; }),
              1);
  std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < 9; ++i)
    EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

/// The samples of all steps from `step` to `end`.
std::vector<int64_t> collect(Sampler &sampler, int64_t step, int64_t end) {
  std::vector<int64_t> all;
  for (; step < end; ++step) {
    const auto &samples = sampler.getBatch(step).samples;
    all.insert(all.end(), samples.begin(), samples.end());
  }
  return all;
}

TEST(Sampler, ContinuesWithTheNextSampleAtAnotherBatch) {
  for (bool shuffle : {false, true})
    for (int64_t stop : {0, 1, 3, 9, 10, 11, 25}) {
      Sampler whole({{43, 4}}, shuffle, 7), other({{43, 8}}, shuffle, 7);
      Sampler::Position at = whole.getPosition(stop);
      other.startAt(stop, at);
      // Up to the end of the epoch both take the same samples.
      int64_t left = (43 - at.taken[0]) / 8;
      EXPECT_EQ(other.getPosition(stop).epoch, at.epoch + (left == 0));
      auto expected = collect(whole, stop, stop + left * 2);
      EXPECT_EQ(collect(other, stop, stop + left), expected);
      EXPECT_EQ(other.getPosition(stop + left).epoch, at.epoch + 1);
      EXPECT_EQ(other.getPosition(stop + left).taken[0], 0);
      EXPECT_EQ(other.getSteps(at.epoch + 3), stop + left + 2 * (43 / 8));
    }
}

} // namespace
