// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The batches of ranks, micro-batches and resumed runs: always the same
// samples, with the same bytes.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/input/Feed.h"
#include "runtime/core/Random.h"
#include "runtime/core/console/Console.h"
#include "test/runtime/TestSupport.h"

#include <chrono>
#include <numeric>

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {

constexpr int64_t kSamples = 103, kStepSamples = 8, kRowBytes = 4 * 4 * 4;

class FeedTest : public testing::Test {
protected:
  FeedTest() {
    std::vector<uint8_t> values(kSamples * 6 * 6);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<uint8_t>(i * 5 + i / 36);
    writeFile(folder / "x.npy", makeNpy(DType::U8, {kSamples, 6, 6}, values));
    how.recipes.emplace("x", Recipe::parse("x", "crop:4,flip"));
    options.recipes = how.recipes;
  }

  /// The bytes of steps from `first` to `end` in the order of the samples, as
  /// `ranks` ranks with `accumulation` micro-batches each make them.
  std::string collect(int64_t first, int64_t end, int64_t ranks,
                      int64_t accumulation, std::optional<int64_t> workers) {
    InputSpec x;
    x.name = "x";
    x.shape = {kStepSamples / ranks / accumulation, 4, 4};
    std::vector<InputSpec> inputs = {x};
    Datasets data;
    data.push_back(std::make_unique<Dataset>(
        std::vector<DataFile>{{folder / "x.npy"}}, inputs, console, how));
    Sampler sampler({{kSamples, kStepSamples}}, true, 9);
    options.workers = workers;
    int64_t batch = x.shape[0];
    std::string all(
        static_cast<size_t>((end - first) * kStepSamples * kRowBytes), '\0');
    for (int64_t rank = 0; rank < ranks; ++rank) {
      Feed feed(planTraining({first, end, accumulation, rank, ranks}, sampler,
                             data, {&inputs}),
                {&inputs}, options, 9, true);
      for (int64_t step = 0; step < end - first; ++step)
        for (int64_t micro = 0; micro < accumulation; ++micro)
          feed.fill(inputs, all.data() + (step * kStepSamples +
                                          (micro * ranks + rank) * batch) *
                                             kRowBytes);
    }
    return all;
  }

  TemporaryFolder folder;
  Console console;
  DatasetOptions how;
  DataOptions options;
};

TEST_F(FeedTest, RanksAndWorkersMakeTheSameBytes) {
  std::string want = collect(0, 30, 1, 1, 0);
  for (int64_t ranks : {1, 2, 4})
    for (int64_t workers : {0, 1, 2, 4})
      for (int64_t accumulation : {1, 2})
        EXPECT_EQ(collect(0, 30, ranks, accumulation, workers), want)
            << ranks << " ranks, " << workers << " workers, " << accumulation;
}

TEST_F(FeedTest, MixturesDoNotDependOnRanksAndWorkers) {
  std::string plain = collect(0, 30, 1, 1, 0);
  how.recipes.insert_or_assign("x", Recipe::parse("x", "crop:4,flip,mixup:1"));
  options.recipes = how.recipes;
  std::string want = collect(0, 30, 1, 1, 0);
  EXPECT_NE(want, plain);
  for (int64_t ranks : {1, 2, 4})
    for (int64_t workers : {0, 1, 2, 4})
      EXPECT_EQ(collect(0, 30, ranks, 1, workers), want)
          << ranks << " ranks, " << workers << " workers";
}

TEST_F(FeedTest, ResumedRunsMakeTheSameBytes) {
  std::string want = collect(0, 40, 1, 1, 1);
  Philox random(11, 0);
  for (int i = 0; i < 20; ++i) {
    auto first = static_cast<int64_t>(random.below(40));
    int64_t ranks = int64_t(1) << random.below(3);
    EXPECT_EQ(
        collect(first, 40, ranks, 1, 1 + i % 3),
        want.substr(static_cast<size_t>(first * kStepSamples * kRowBytes)))
        << "from " << first << " on " << ranks;
  }
}

/// Without recipes the queue takes over while a run is under way, where batches
/// are all that it does.
TEST_F(FeedTest, ThreadsMayStartLater) {
  how.recipes.clear();
  options.recipes.clear();
  std::vector<float> values(kSamples * 16);
  std::iota(values.begin(), values.end(), 0.0F);
  writeFile(folder / "x.npy", makeNpy(DType::F32, {kSamples, 4, 4}, values));
  using Clock = std::chrono::steady_clock;
  int64_t steps = 20000;
  for (auto spent = Clock::duration::zero();
       spent < std::chrono::milliseconds(250); steps *= 2) {
    auto begin = Clock::now();
    std::string all = collect(0, steps, 1, 1, std::nullopt);
    spent = Clock::now() - begin;
    ASSERT_EQ(all, collect(0, steps, 1, 1, 0)) << steps;
  }
}

} // namespace
