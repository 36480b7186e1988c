// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Batches that threads make: always the same ones.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/loading/BatchQueue.h"
#include "runtime/core/console/Console.h"
#include "runtime/data/Sampler.h"
#include "test/runtime/TestSupport.h"

#include <algorithm>
#include <chrono>

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {

class BatchQueueTest : public testing::Test {
protected:
  static constexpr int64_t samples = 101, batch = 13;

  BatchQueueTest() {
    InputSpec x;
    x.name = "x";
    x.dtype = DType::F32;
    x.shape = {batch, 3, 6, 6};
    inputs = {x};
    std::vector<uint8_t> values(samples * 3 * 8 * 8);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<uint8_t>(i * 7 + i / 256);
    writeFile(folder / "x.npy", makeNpy(DType::U8, {samples, 3, 8, 8}, values));
    options.recipes.emplace("x", Recipe::parse("x", "crop:6,flip"));
  }

  Dataset openData() {
    return Dataset({DataFile{folder / "x.npy"}}, inputs, console, options);
  }

  BatchQueue::Planner planSteps(const Dataset &data, int64_t first,
                                int64_t steps) {
    return [&data, this, first, steps,
            sampler = Sampler({{samples, batch}}, true, 3)](
               int64_t number) mutable -> std::optional<BatchPlan> {
      if (number >= steps)
        return std::nullopt;
      Sampler::Batch chosen = sampler.getBatch(first + number);
      return BatchPlan{&data, &inputs, chosen.samples, chosen.epoch};
    };
  }

  /// The bytes of the batches from `first` on.
  std::vector<std::string> collect(int64_t workers, int64_t first,
                                   int64_t steps) {
    Dataset data = openData();
    QueueOptions how;
    how.workers = workers;
    how.isTraining = true;
    BatchQueue queue(planSteps(data, first, steps), inputs[0].getBytes(), how);
    std::vector<std::string> batches;
    while (const char *bytes = queue.next())
      batches.emplace_back(bytes, static_cast<size_t>(inputs[0].getBytes()));
    return batches;
  }

  TemporaryFolder folder;
  Console console;
  std::vector<InputSpec> inputs;
  DatasetOptions options;
};

TEST_F(BatchQueueTest, AreTheSameForAnyNumberOfWorkers) {
  auto one = collect(1, 0, 40);
  EXPECT_EQ(one.size(), 40u);
  for (int64_t workers : {2, 4, 7})
    EXPECT_EQ(collect(workers, 0, 40), one) << workers;
  // Two epochs differ, whatever the samples.
  EXPECT_NE(one[0], one[7]);
}

TEST_F(BatchQueueTest, AreTheSameWhereverARunResumes) {
  auto whole = collect(2, 0, 40);
  for (int64_t first : {1,  2,  3,  5,  6,  7,  8,  9,  11, 13,
                        14, 15, 17, 20, 21, 22, 27, 28, 33, 39}) {
    std::vector<std::string> rest(whole.begin() + first, whole.end());
    EXPECT_EQ(collect(first % 3 + 1, first, 40 - first), rest) << first;
  }
}

TEST_F(BatchQueueTest, CanBeLeftAtAnyMoment) {
  Dataset data = openData();
  for (int64_t taken = 0; taken < 12; ++taken) {
    QueueOptions how;
    how.workers = 3;
    BatchQueue queue(planSteps(data, 0, 1000000), inputs[0].getBytes(), how);
    for (int64_t i = 0; i < taken; ++i)
      EXPECT_NE(queue.next(), nullptr);
  }
}

TEST_F(BatchQueueTest, ThrowsAtTheBatchThatIsBad) {
  Dataset data = openData();
  QueueOptions how;
  how.workers = 2;
  auto plan = [&](int64_t number) -> std::optional<BatchPlan> {
    if (number == 2)
      throw badInput("sample 7", "bad", "mend it");
    return BatchPlan{&data, &inputs, {0, 1}, 0};
  };
  BatchQueue queue(plan, inputs[0].getBytes(), how);
  EXPECT_NE(queue.next(), nullptr);
  EXPECT_NE(queue.next(), nullptr);
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "sample 7: bad", queue.next());
}

TEST_F(BatchQueueTest, TakesWorkersBackThatDoNotHelp) {
  // Batches are planned by one thread at a time: more of them make no
  // difference.
  Dataset data = openData();
  QueueOptions how;
  how.mostWorkers = 3;
  how.isTraining = true;
  Sampler sampler({{samples, batch}}, true, 3);
  auto plan = [&](int64_t number) -> std::optional<BatchPlan> {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    Sampler::Batch chosen = sampler.getBatch(number);
    return BatchPlan{&data, &inputs, chosen.samples, chosen.epoch};
  };
  auto want = collect(1, 0, 300);
  BatchQueue queue(plan, inputs[0].getBytes(), how);
  EXPECT_EQ(queue.countWorkers(), 1);
  int64_t most = 1, changes = 0, before = 1;
  for (const std::string &bytes : want) {
    EXPECT_EQ(bytes, std::string(queue.next(), bytes.size()));
    most = std::max(most, queue.countWorkers());
    changes += queue.countWorkers() != before;
    before = queue.countWorkers();
  }
  EXPECT_GE(most, 2);
  // One was added, and taken back.
  EXPECT_GE(changes, 2);
}

TEST_F(BatchQueueTest, LeavesOutBadSamples) {
  std::filesystem::create_directories(folder / "pictures/a");
  for (int i = 0; i < 5; ++i)
    writeFile(folder / "pictures/a/" + std::to_string(i), "no picture");
  options.skipBad = 3;
  options.recipes.clear();
  options.recipes.emplace("x", Recipe::parse("x", "from:image,decode"));
  Dataset data({DataFile{folder / "pictures"}}, inputs, console, options);
  QueueOptions how;
  how.workers = 2;
  auto plan = [&](int64_t) { return BatchPlan{&data, &inputs, {0, 1}, 0}; };
  BatchQueue queue(plan, inputs[0].getBytes(), how);
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "pictures/a/", queue.next());
}

} // namespace
