// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Checkpoints that two ranks, threads of this test, write together.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/save/JointSave.h"
#include "runtime/comm/Communicator.h"
#include "test/runtime/TestSupport.h"

#include <algorithm>
#include <atomic>
#include <latch>
#include <map>
#include <mutex>

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {

/// The messages of two ranks, by the number of the operation.
struct Exchange {
  std::mutex mutex;
  std::map<int, std::map<int64_t, std::string>> sent;
};

/// All-gathers and broadcasts between threads, which is all that a save needs.
class ThreadCollectives : public Collectives {
public:
  ThreadCollectives(Exchange &exchange, int64_t rank)
      : Collectives(rank, /*size=*/2), exchange(exchange) {}

  std::string describe() const override { return "threads"; }
  std::unique_ptr<Pending> startAllReduce(void *, int64_t, DType,
                                          Reduction) override {
    return nullptr;
  }
  std::unique_ptr<Pending> startReduceScatter(void *, int64_t, DType) override {
    return nullptr;
  }
  std::unique_ptr<Pending> startGatherShards(void *, int64_t, DType) override {
    return nullptr;
  }
  std::unique_ptr<Pending> startAllGather(const void *from, void *to,
                                          int64_t bytes) override {
    return start(from, bytes, [=](auto &parts) {
      for (auto &[rank, part] : parts)
        std::copy(part.begin(), part.end(),
                  static_cast<char *>(to) + rank * bytes);
    });
  }
  std::unique_ptr<Pending> startBroadcast(void *data, int64_t bytes,
                                          int64_t root) override {
    return start(data, bytes, [=](auto &parts) {
      std::copy(parts[root].begin(), parts[root].end(),
                static_cast<char *>(data));
    });
  }

private:
  using Parts = std::map<int64_t, std::string>;
  struct Operation : Pending {
    bool test() override {
      std::lock_guard lock(exchange->mutex);
      Parts &parts = exchange->sent[number];
      if (parts.size() < 2)
        return false;
      take(parts);
      return true;
    }
    Exchange *exchange;
    int number;
    std::function<void(Parts &)> take;
  };
  std::unique_ptr<Pending> start(const void *from, int64_t bytes,
                                 std::function<void(Parts &)> take) {
    auto operation = std::make_unique<Operation>();
    operation->exchange = &exchange;
    operation->number = count++;
    operation->take = std::move(take);
    std::lock_guard lock(exchange.mutex);
    exchange.sent[operation->number][getRank()] = std::string(
        static_cast<const char *>(from), static_cast<size_t>(bytes));
    return operation;
  }

  Exchange &exchange;
  int count = 0;
};

class JointSaveTest : public testing::Test {
protected:
  struct Rank {
    Rank(Exchange &exchange, int64_t number)
        : ranks(std::make_unique<ThreadCollectives>(exchange, number)) {}
    Communicator ranks;
    CheckpointWriter writer;
    JointSave save{ranks, writer};
  };

  /// Runs the body in a thread for each rank.
  void onBothRanks(const std::function<void(Rank &, int64_t)> &body) {
    Exchange exchange;
    std::vector<std::thread> threads;
    for (int64_t number : {0, 1})
      threads.emplace_back([&, number] {
        Rank rank(exchange, number);
        body(rank, number);
        rank.ranks.finish();
      });
    for (std::thread &thread : threads)
      thread.join();
  }

  void start(Rank &rank, int64_t number, int64_t step,
             std::function<void()> wait) {
    CheckpointContent content;
    content.info.step = step;
    if (number == 0)
      content.state.tensors["whole"] = {DType::U8, {5}, whole};
    SafeTensors shards;
    shards.tensors["shard"] = {DType::U8, {1}, number == 0 ? "a" : "b"};
    shards.metadata["shard"] = std::to_string(number);
    rank.save.start(directory, std::move(content), std::move(shards),
                    {/*newest=*/2, /*isBest=*/step == 2}, std::move(wait));
  }

  /// The step of the newest checkpoint and its parts.
  std::pair<int64_t, std::string> load() {
    std::string text;
    CheckpointInfo info = loadCheckpoint(
        directory, [&](const CheckpointState &state, const std::string &) {
          text = state.whole.tensors.at("whole").data;
          for (const SafeTensors &shard : state.shards)
            text += shard.tensors.at("shard").data;
        });
    return {info.step, text};
  }
  std::vector<std::string> list() {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(directory))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  TemporaryFolder folder;
  std::string directory = folder / "checkpoints", whole = "whole";
};

TEST_F(JointSaveTest, WritesWhileTheRanksGoOn) {
  std::latch written(1);
  onBothRanks([&](Rank &rank, int64_t number) {
    // Rank 1's part is late; nobody waits for it.
    start(rank, number, /*step=*/2, [&] {
      if (number == 1)
        written.wait();
    });
    EXPECT_EQ(rank.save.getStage(), 1);
    EXPECT_FALSE(std::filesystem::exists(directory + "/latest"));
    if (number == 1)
      EXPECT_TRUE(rank.save.isBusy());
    rank.ranks.agree(0, "that both have started");
    if (number == 0)
      written.count_down();
    while (rank.save.isBusy())
      std::this_thread::yield();
    EXPECT_FALSE(rank.save.endStage());
    EXPECT_EQ(rank.save.getStage(), 2);
    EXPECT_TRUE(rank.save.endStage());
    EXPECT_EQ(rank.save.getStage(), std::nullopt);
    EXPECT_TRUE(rank.save.hasSucceeded());
    EXPECT_TRUE(rank.save.isOfBest());
    EXPECT_EQ(rank.save.getStep(), 2);
  });
  EXPECT_EQ(load(), (std::pair<int64_t, std::string>(2, "wholeab")));
  EXPECT_EQ(list(), (std::vector<std::string>{"best", "latest", "step-2"}));
}

TEST_F(JointSaveTest, APartThatFailsFailsOnAllRanks) {
  onBothRanks([&](Rank &rank, int64_t number) {
    for (int64_t step : {3, 4, 5}) {
      // All attempts at rank 1's part of step 4.
      start(rank, number, step, [&] {
        if (number == 1 && step == 4)
          throw failure("shard", "cannot write", "make room");
      });
      rank.save.finish();
      EXPECT_EQ(rank.save.hasSucceeded(), step != 4);
      EXPECT_EQ(rank.save.getStage(), std::nullopt);
      std::optional<Error> problem = rank.save.takeProblem();
      EXPECT_EQ(problem.has_value(), number == 0 && step == 4);
      if (problem)
        EXPECT_EQ(problem->getWhere(), "rank 1");
    }
  });
  EXPECT_EQ(load(), (std::pair<int64_t, std::string>(5, "wholeab")));
  EXPECT_EQ(list(), (std::vector<std::string>{"latest", "step-3", "step-5"}));
}

TEST_F(JointSaveTest, NoFolder) {
  writeFile(directory, "a file");
  onBothRanks([&](Rank &rank, int64_t number) {
    EXPECT_THROW(start(rank, number, 1, [] {}), Error);
    EXPECT_EQ(rank.save.getStage(), std::nullopt);
    rank.save.finish();
  });
  EXPECT_EQ(readFile(directory), "a file");
}

} // namespace
