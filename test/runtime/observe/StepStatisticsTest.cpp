// SPDX-License-Identifier: Apache-2.0

#include "runtime/observe/StepStatistics.h"
#include "runtime/core/libraries/JsonLibrary.h"

#include <gtest/gtest.h>

using namespace ingot::runtime;

TEST(StepStatisticsTest, SummarizesAWindow) {
  StepStatistics statistics;
  for (int i = 1; i <= 100; ++i)
    statistics.add(/*stepMs=*/i < 100 ? 2 : 102, /*dataMs=*/0.75,
                   {/*tokens=*/64, /*flops=*/2e6, /*boundMs=*/1});
  ASSERT_TRUE(statistics.isFull());
  StepSummary summary = statistics.take();
  // 300 ms in all.
  EXPECT_EQ(summary.steps, 100);
  EXPECT_DOUBLE_EQ(summary.p50, 2);
  EXPECT_DOUBLE_EQ(summary.p99, 2);
  EXPECT_DOUBLE_EQ(summary.most, 102);
  EXPECT_NEAR(summary.dataShare, 0.25, 1e-9);
  EXPECT_NEAR(summary.rooflineShare, 1.0 / 3, 1e-9);
  EXPECT_NEAR(summary.tokensPerSecond, 6400 / 0.3, 1e-6);
  EXPECT_NEAR(summary.gflops, 0.2 / 0.3, 1e-9);
  EXPECT_GT(summary.residentBytes, 0);
  EXPECT_GE(summary.peakResidentBytes, summary.residentBytes);
  EXPECT_GE(summary.readBytesPerSecond, 0);
  EXPECT_GE(summary.writtenBytesPerSecond, 0);
  EXPECT_TRUE(statistics.isEmpty());
  auto json = nlohmann::json::parse(summary.toJson());
  EXPECT_FALSE(json.contains("exposed_share"));
  EXPECT_TRUE(json.contains("written_bytes_per_s"));
}

/// The time that the process used between steps is no more than its processors
/// can give.
TEST(StepStatisticsTest, ProcessorsAreThoseOfTheWindow) {
  StepStatistics statistics;
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  while (std::chrono::steady_clock::now() < end)
    ;
  statistics.add(/*stepMs=*/1, /*dataMs=*/0);
  EXPECT_LE(statistics.take().processors, 1.5);
}

/// Short steps make long windows.
TEST(StepStatisticsTest, AsksTheSystemSeldom) {
  StepStatistics statistics;
  int64_t steps = 0;
  for (; !statistics.isFull(); ++steps)
    statistics.add(/*stepMs=*/0.03125, /*dataMs=*/0);
  EXPECT_EQ(steps, 1600);
  EXPECT_EQ(statistics.take().steps, 1600);
  for (steps = 0; !statistics.isWorthwhile(); ++steps)
    statistics.add(0.03125, 0);
  EXPECT_EQ(steps, 160);
  for (steps = 160; !statistics.isFull(); ++steps)
    statistics.add(1000, 0);
  EXPECT_EQ(steps, 161);
}

TEST(StepStatisticsTest, CollectivesOfAWindowOnly) {
  CommunicationUse use{/*waitSeconds=*/5, /*bytes=*/1000};
  StepStatistics statistics([&] { return use; });
  // What came before the run is not part of it.
  use = {5.02, 3000};
  statistics.add(/*stepMs=*/100, /*dataMs=*/0);
  auto json = nlohmann::json::parse(statistics.take().toJson());
  EXPECT_NEAR(json["exposed_share"].get<double>(), 0.2, 1e-4);
  EXPECT_EQ(json["sent_bytes_per_s"].get<double>(), 20000);
  use = {5.03, 3500};
  statistics.add(100, 0);
  StepSummary second = statistics.take();
  EXPECT_NEAR(*second.exposedShare, 0.1, 1e-9);
  EXPECT_NEAR(*second.sentBytesPerSecond, 5000, 1e-6);
}
