// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tests of what the sampler promises.
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
  Sampler sampler({{10, 3}}, /*shuffle=*/false, 7);
  EXPECT_EQ(sampler.getBatchesPerEpoch(), 3);
  EXPECT_EQ(sampler.getDroppedPerEpoch(), 1);
  EXPECT_EQ(sampler.getBatch(0).samples, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(sampler.getBatch(2).samples, (std::vector<int64_t>{6, 7, 8}));
  EXPECT_EQ(sampler.getBatch(3).samples, (std::vector<int64_t>{0, 1, 2}));
}

TEST(Sampler, EverySampleAtMostOncePerEpoch) {
  Sampler sampler({{103, 10}}, /*shuffle=*/true, 1);
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
  Sampler one({{50, 5}}, true, 1), two({{50, 5}}, true, 2);
  EXPECT_NE(getEpoch(one, 0), getEpoch(one, 1));
  EXPECT_NE(getEpoch(one, 0), getEpoch(two, 0));
}

TEST(Sampler, AFunctionOfTheStep) {
  Sampler straight({{50, 5}}, true, 3), jumping({{50, 5}}, true, 3);
  std::vector<std::vector<int64_t>> batches;
  for (int64_t step = 0; step < 30; ++step)
    batches.push_back(straight.getBatch(step).samples);
  for (int64_t step : {29, 0, 17, 3, 25})
    EXPECT_EQ(jumping.getBatch(step).samples, batches[step]);
}

TEST(Sampler, ABatchIsOfOneGroup) {
  for (bool shuffle : {false, true}) {
    Sampler sampler({{7, 2}, {1, 2}, {9, 2}}, shuffle, 5);
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
  Sampler sampler({{8, 8}}, true, 42);
  EXPECT_EQ(sampler.getBatch(0).samples,
            (std::vector<int64_t>{7, 2, 5, 1, 4, 0, 3, 6}));
}

TEST(Sampler, EveryPlaceIsEquallyLikely) {
  constexpr int64_t samples = 5, epochs = 5000;
  Sampler sampler({{samples, samples}}, true, 9);
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

/// The samples that a run takes of each group, which goes on with the next of
/// the factors of its batches after some steps.
std::vector<std::vector<int64_t>>
collectByGroup(const std::vector<int64_t> &sizes, int64_t epochs,
               const std::vector<int64_t> &factors, int64_t stepsEach) {
  std::vector<std::vector<int64_t>> all(sizes.size());
  Sampler::Position position{0, std::vector<int64_t>(sizes.size())};
  int64_t step = 0;
  for (size_t run = 0; position.epoch < epochs; ++run) {
    std::vector<SampleGroup> groups;
    for (size_t i = 0; i < sizes.size(); ++i)
      groups.push_back({sizes[i], factors[std::min(run, factors.size() - 1)] *
                                      static_cast<int64_t>(i + 1)});
    Sampler sampler(groups, true, 5);
    sampler.startAt(step, position);
    for (int64_t i = 0; i < stepsEach && position.epoch < epochs; ++i) {
      Sampler::Batch batch = sampler.getBatch(step);
      EXPECT_EQ(static_cast<int64_t>(batch.samples.size()),
                groups[batch.group].batch);
      for (int64_t sample : batch.samples)
        all[batch.group].push_back(batch.epoch * 1000 + sample);
      position = sampler.getPosition(++step);
    }
  }
  return all;
}

TEST(Sampler, EachGroupGoesOnWithItsNextSample) {
  // All sizes are multiples of all batches, so that no sample is left out.
  std::vector<int64_t> sizes = {48, 24, 72};
  auto want = collectByGroup(sizes, 3, {2}, 1000);
  for (size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(static_cast<int64_t>(want[i].size()), 3 * sizes[i]);
    std::set<int64_t> distinct(want[i].begin(), want[i].end());
    EXPECT_EQ(distinct.size(), want[i].size());
  }
  for (int64_t stepsEach : {1, 4, 7})
    EXPECT_EQ(collectByGroup(sizes, 3, {2}, stepsEach), want) << stepsEach;
  // A run of other batches, at first or always, takes the same samples.
  EXPECT_EQ(collectByGroup(sizes, 3, {4}, 1000), want);
  for (int64_t stepsEach : {2, 6, 12, 33})
    EXPECT_EQ(collectByGroup(sizes, 3, {4, 2}, stepsEach), want) << stepsEach;
}

TEST(Sampler, TheOrderOfGroupsDoesNotShowWhereARunResumed) {
  std::vector<SampleGroup> groups = {{40, 2}, {60, 4}, {90, 3}};
  Sampler whole(groups, true, 8);
  for (int64_t first : {1, 13, 22, 64, 65, 66, 100}) {
    Sampler rest(groups, true, 8);
    rest.startAt(first, whole.getPosition(first));
    for (int64_t step = first; step < 160; ++step) {
      Sampler::Batch a = whole.getBatch(step), b = rest.getBatch(step);
      EXPECT_EQ(a.group, b.group);
      EXPECT_EQ(a.samples, b.samples) << "step " << step << " from " << first;
    }
    EXPECT_EQ(rest.getSteps(3), whole.getSteps(3));
  }
}

TEST(Sampler, EveryGroupIsEquallyLikelyAtEveryStep) {
  // Three batches of one group and one of the other.
  int64_t count[4] = {};
  Sampler sampler({{6, 2}, {5, 5}}, true, 3);
  constexpr int64_t epochs = 4000;
  for (int64_t step = 0; step < 4 * epochs; ++step)
    count[step % 4] += sampler.getBatch(step).group == 1;
  for (int64_t n : count)
    EXPECT_NEAR(n, epochs / 4, 120);
}

TEST(Sampler, APositionOfOtherGroupsIsNone) {
  Sampler sampler({{40, 2}, {60, 4}}, true, 8),
      same({{40, 2}, {60, 4}}, true, 8);
  sampler.startAt(7, {3, {1, 2, 3}});
  EXPECT_EQ(sampler.getBatch(7).samples, same.getBatch(7).samples);
  // More than there is leaves nothing of the epoch.
  sampler.startAt(0, {2, {INT64_MAX, INT64_MAX}});
  EXPECT_EQ(sampler.getEpoch(0), 3);
}

} // namespace
