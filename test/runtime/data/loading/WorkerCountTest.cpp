// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The number of workers, over simulated steps and batches.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/loading/WorkerCount.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

using namespace ingot::runtime;

namespace {

constexpr int64_t kSettling = 8;

/// Adds batches of steps that take `stepMs` and of data that takes what
/// `makingMs` says of the workers that there are. Returns the part of the time
/// in which these were not `expected`.
double simulate(WorkerCount &workers, int64_t batches, double stepMs,
                const std::function<double(int64_t)> &makingMs,
                int64_t expected) {
  double total = 0, others = 0;
  for (int64_t i = 0; i < batches; ++i) {
    double making = makingMs(workers.get());
    double period = std::max(stepMs, making);
    total += period;
    others += workers.get() == expected ? 0 : period;
    workers.add(period, period - stepMs);
  }
  return others / total;
}

TEST(WorkerCount, GrowsWhileThatHelps) {
  WorkerCount workers(8, kSettling);
  EXPECT_EQ(workers.get(), 1);
  auto making = [](int64_t count) { return 30.0 / static_cast<double>(count); };
  simulate(workers, 400, 10, making, 3);
  EXPECT_EQ(workers.get(), 3);
}

TEST(WorkerCount, TakesBackWhatDoesNotHelp) {
  // Two processors: a third worker makes nothing faster.
  WorkerCount workers(8, kSettling);
  auto making = [](int64_t count) {
    return 30.0 / static_cast<double>(std::min<int64_t>(count, 2));
  };
  double others = simulate(workers, 20000, 5, making, 2);
  EXPECT_LE(workers.get(), 3);
  EXPECT_LT(others, 0.05);
}

TEST(WorkerCount, TakesBackWhatHarms) {
  // Workers and the step want the same processor.
  WorkerCount workers(8, kSettling);
  auto making = [](int64_t count) {
    return 10.0 + 4.0 * static_cast<double>(count);
  };
  double others = simulate(workers, 20000, 5, making, 1);
  EXPECT_LT(others, 0.05);
}

TEST(WorkerCount, GivesUpThoseThatAreNoLongerNeeded) {
  WorkerCount workers(8, kSettling);
  auto slow = [](int64_t count) { return 40.0 / static_cast<double>(count); };
  simulate(workers, 1000, 10, slow, 4);
  EXPECT_EQ(workers.get(), 4);
  // Later epochs read what the first one kept.
  auto fast = [](int64_t count) { return 12.0 / static_cast<double>(count); };
  double others = simulate(workers, 20000, 10, fast, 2);
  EXPECT_GE(workers.get(), 1);
  EXPECT_LE(workers.get(), 2);
  EXPECT_LT(others, 0.1);
  simulate(workers, 4000, 10, slow, 4);
  EXPECT_EQ(workers.get(), 4);
}

TEST(WorkerCount, IsNeverMoreThanTheMost) {
  WorkerCount workers(2, kSettling);
  auto making = [](int64_t count) {
    return 100.0 / static_cast<double>(count);
  };
  for (int i = 0; i < 50; ++i) {
    simulate(workers, 20, 1, making, 2);
    EXPECT_GE(workers.get(), 1);
    EXPECT_LE(workers.get(), 2);
  }
  EXPECT_EQ(workers.get(), 2);
}

} // namespace
