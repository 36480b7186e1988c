// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Packing on random intervals: what must hold, and how close to the bound.
//===----------------------------------------------------------------------===//

#include "passes/schedule/graph/Arena.h"
#include "gtest/gtest.h"

#include <limits>
#include <numeric>
#include <random>
#include <vector>

using namespace ingot;

static constexpr int64_t kAlignment = 64;

static std::vector<Interval> randomIntervals(std::mt19937 &random, int count,
                                             int instants) {
  std::vector<Interval> intervals(count);
  for (Interval &interval : intervals) {
    interval.bytes = random() % 8 == 0 ? 0 : 1 + random() % 100000;
    interval.first = random() % instants;
    interval.last =
        std::min<int64_t>(instants - 1, interval.first + random() % 20);
  }
  return intervals;
}

static bool meet(const Interval &a, const Interval &b) {
  return a.first <= b.last && b.first <= a.last;
}

TEST(ArenaTest, LivingTogetherMeansApart) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<Interval> intervals = randomIntervals(random, 60, 40);
    int64_t total = packIntervals(intervals, kAlignment);
    for (const Interval &a : intervals) {
      EXPECT_EQ(a.offset % kAlignment, 0);
      EXPECT_GE(a.offset, 0);
      EXPECT_LE(a.offset + a.bytes, total);
      for (const Interval &b : intervals) {
        if (&a == &b || !meet(a, b) || a.bytes == 0 || b.bytes == 0)
          continue;
        EXPECT_TRUE(a.offset + a.bytes <= b.offset ||
                    b.offset + b.bytes <= a.offset);
      }
    }
  }
}

TEST(ArenaTest, CloseToWhatLivesAtOnce) {
  std::mt19937 random(2);
  double bound = 0, taken = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<Interval> intervals = randomIntervals(random, 60, 40);
    int64_t least = peakLiveBytes(intervals, kAlignment);
    int64_t total = packIntervals(intervals, kAlignment);
    EXPECT_GE(total, least);
    bound += least;
    taken += total;
  }
  // Random intervals are harder than a training step's, which nest.
  EXPECT_LE(taken, 1.15 * bound);
}

/// The fewest bytes: the order of the optimum's offsets, in which each lies
/// right above what it meets of those before, is one of all orders.
static int64_t packOptimally(const std::vector<Interval> &intervals) {
  std::vector<size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t best = std::numeric_limits<int64_t>::max();
  do {
    std::vector<int64_t> end(intervals.size(), 0);
    int64_t total = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      const Interval &interval = intervals[order[i]];
      int64_t from = 0;
      for (size_t j = 0; j < i; ++j)
        if (meet(interval, intervals[order[j]]))
          from = std::max(from, end[j]);
      end[i] =
          from + (interval.bytes + kAlignment - 1) / kAlignment * kAlignment;
      total = std::max(total, end[i]);
    }
    best = std::min(best, total);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(ArenaTest, CloseToTheOptimum) {
  std::mt19937 random(3);
  int64_t optimum = 0, taken = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<Interval> intervals = randomIntervals(random, 7, 25);
    int64_t least = packOptimally(intervals);
    int64_t total = packIntervals(intervals, kAlignment);
    EXPECT_GE(total, least);
    optimum += least;
    taken += total;
  }
  EXPECT_LE(taken, 1.001 * optimum);
}

TEST(ArenaTest, NestedIntervalsTakeNoMoreThanTheyMust) {
  // Forward and backward: what is made last dies first.
  std::vector<Interval> intervals;
  for (int64_t i = 0; i < 32; ++i)
    intervals.push_back({1000 * (i % 7 + 1), i, 64 - i, 0});
  int64_t least = peakLiveBytes(intervals, kAlignment);
  EXPECT_EQ(packIntervals(intervals, kAlignment), least);
}

TEST(ArenaTest, EnoughIsEnough) {
  // The attempts are those of the best packing, of which fewer may be made.
  std::mt19937 random(5);
  bool isShorter = false;
  for (int round = 0; round < 100; ++round) {
    std::vector<Interval> best = randomIntervals(random, 30, 40);
    std::vector<Interval> some = best;
    int64_t least = packIntervals(best, kAlignment);
    int64_t enough = least + least / 10;
    int64_t total = packIntervals(some, kAlignment, enough);
    EXPECT_GE(total, least);
    EXPECT_LE(total, enough);
    isShorter |= total > least;
  }
  EXPECT_TRUE(isShorter);
}

TEST(ArenaTest, MemoryIsUsedAgain) {
  std::vector<Interval> intervals = {{256, 0, 1, 0}, {256, 2, 3, 0}};
  EXPECT_EQ(packIntervals(intervals, kAlignment), 256);
  EXPECT_EQ(intervals[0].offset, intervals[1].offset);
}

TEST(ArenaTest, PeakSaysWhen) {
  std::vector<Interval> intervals = {
      {64, 0, 5, 0}, {64, 2, 3, 0}, {1, 3, 4, 0}};
  int64_t instant = -1;
  EXPECT_EQ(peakLiveBytes(intervals, kAlignment, &instant), 192);
  EXPECT_EQ(instant, 3);
}
