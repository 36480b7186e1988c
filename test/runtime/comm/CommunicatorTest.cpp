// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The communication stream over a transport that the tests steer, as one rank
// of two.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/Communicator.h"
#include "runtime/core/Error.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

using namespace ingot::runtime;

namespace {

/// The calls of the fake transport, and what it lets happen.
struct Script {
  std::atomic<int> started = 0;
  /// Operations with a smaller number may end.
  std::atomic<int> mayEnd = 0;
  std::atomic<int> failing = -1;
  /// The elements of the last sum.
  std::atomic<int64_t> elements = 0;
};

class ScriptedCollectives : public Collectives {
public:
  explicit ScriptedCollectives(Script &script)
      : Collectives(/*rank=*/1, /*size=*/2), script(script) {}

  std::string describe() const override { return "script"; }
  /// Sums as if the other rank had the same numbers.
  std::unique_ptr<Pending> startAllReduce(void *data, int64_t elements,
                                          DType type, Reduction) override {
    if (type == DType::F32)
      for (int64_t i = 0; i < elements; ++i)
        static_cast<float *>(data)[i] *= 2;
    script.elements = elements;
    return start();
  }
  std::unique_ptr<Pending> startReduceScatter(void *, int64_t, DType) override {
    return start();
  }
  std::unique_ptr<Pending> startGatherShards(void *, int64_t, DType) override {
    return start();
  }
  std::unique_ptr<Pending> startAllGather(const void *, void *,
                                          int64_t) override {
    return start();
  }
  std::unique_ptr<Pending> startBroadcast(void *, int64_t, int64_t) override {
    return start();
  }

private:
  struct Scripted : Pending {
    Scripted(Script &script, int number) : script(script), number(number) {}
    bool test() override {
      if (number == script.failing)
        throw std::runtime_error("connection reset");
      return number < script.mayEnd;
    }
    Script &script;
    int number;
  };
  std::unique_ptr<Pending> start() {
    return std::make_unique<Scripted>(script, script.started++);
  }
  Script &script;
};

struct CommunicatorTest : ::testing::Test {
  Script script;
  Communicator ranks{std::make_unique<ScriptedCollectives>(script)};
  float data[4] = {};

  Communicator::Ticket start(const std::string &what) {
    return ranks.startAllReduce(data, 4, DType::F32, what);
  }
  void awaitStarted(int count) {
    while (script.started < count)
      std::this_thread::yield();
  }
  Error catchFailure(Communicator::Ticket ticket) {
    try {
      ranks.wait(ticket);
    } catch (const Error &error) {
      return error;
    }
    return failure("nothing", "was thrown", "");
  }
};

TEST_F(CommunicatorTest, GoesOnWhileOthersCompute) {
  Communicator::Ticket first = start("a"), second = start("b");
  awaitStarted(2);
  script.mayEnd = 2;
  // Those that have ended before the wait, in any order.
  ranks.wait(second);
  ranks.wait(first);
  ranks.finish();
}

TEST_F(CommunicatorTest, NamesWhatDoesNotEnd) {
  ranks.setLimit(std::chrono::seconds(0));
  ranks.setStep(7);
  Error error = catchFailure(start("all-reduce of bucket 3"));
  EXPECT_EQ(error.getWhere(), "rank 1, step 7");
  EXPECT_NE(error.getWhat().find("all-reduce of bucket 3"), std::string::npos);
  EXPECT_NE(error.getHint().find("--comm-timeout"), std::string::npos);
  // It is among the last events, without an end.
  std::vector<CommunicationEvent> events = ranks.getEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].step, 7);
  EXPECT_EQ(events[0].bytes, 16);
  EXPECT_EQ(events[0].end, CommunicationEvent::Time());
}

TEST_F(CommunicatorTest, AgreesWithinTheLimit) {
  ranks.setLimit(std::chrono::seconds(0));
  ranks.setStep(7);
  try {
    ranks.agree(0, "a check of the weights");
    FAIL() << "there is no end";
  } catch (const Error &error) {
    EXPECT_EQ(error.getWhere(), "rank 1, step 7");
    EXPECT_NE(error.getWhat().find("a check of the weights"),
              std::string::npos);
    EXPECT_NE(error.getHint().find("--comm-timeout"), std::string::npos);
  }
  // A rank that writes a file takes its time.
  std::thread other([&] {
    awaitStarted(2);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    script.mayEnd = 2;
  });
  try {
    ranks.agree(0, "the end of the run", Communicator::Lateness::Writing);
  } catch (const Error &error) {
    // The script has gathered nothing.
    EXPECT_NE(error.getWhat().find("another point"), std::string::npos);
  }
  other.join();
}

TEST_F(CommunicatorTest, PassesFailuresOfTheTransportOn) {
  script.failing = 1;
  script.mayEnd = 1;
  Communicator::Ticket good = start("good"), bad = start("bad");
  ranks.wait(good);
  Error error = catchFailure(bad);
  EXPECT_EQ(error.getWhat(), "bad: connection reset");
}

TEST_F(CommunicatorTest, EndsWithTheRun) {
  std::string said;
  ranks.setInterruption([] { return "SIGTERM"; },
                        [&](const Error &error) { said += error.getWhat(); },
                        std::chrono::milliseconds(600));
  Error error = catchFailure(start("sum"));
  EXPECT_NE(error.getWhat().find("SIGTERM"), std::string::npos);
  EXPECT_EQ(said, error.getWhat());
}

TEST_F(CommunicatorTest, WaitsForRanksThatEndTheirStep) {
  std::atomic<bool> hasWarned = false;
  ranks.setInterruption([] { return "SIGTERM"; },
                        [&](const Error &) { hasWarned = true; });
  Communicator::Ticket slow = start("sum");
  std::thread other([&] {
    while (!hasWarned)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    script.mayEnd = 1;
  });
  ranks.wait(slow);
  other.join();
  EXPECT_EQ(ranks.getEvents().size(), 1u);
  ranks.finish();
}

TEST_F(CommunicatorTest, JoinsBuckets) {
  ranks.record();
  ranks.setJoining(24);
  script.mayEnd = 100;
  float first[4] = {1, 2, 3, 4}, second[2] = {5, 6}, third[3] = {7, 8, 9};
  double other[1] = {10};
  auto start = [&](auto &bucket, DType type, const std::string &what) {
    return ranks.startBucketReduce(bucket, std::size(bucket), type, what);
  };
  // The first two have enough bytes; another type begins anew, and a wait ends
  // what was begun.
  Communicator::Ticket a = start(first, DType::F32, "a"),
                       b = start(second, DType::F32, "b"),
                       c = start(third, DType::F32, "c"),
                       d = start(other, DType::F64, "d");
  awaitStarted(2);
  EXPECT_EQ(script.elements, 3);
  ranks.wait(b);
  EXPECT_EQ(first[3], 8);
  EXPECT_EQ(second[0], 10);
  ranks.wait(a);
  ranks.wait(d);
  ranks.wait(c);
  EXPECT_EQ(third[2], 18);
  std::vector<CommunicationEvent> events = ranks.getEvents();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].what, "a and 1 more");
  EXPECT_EQ(events[0].bytes, 24);
  EXPECT_EQ(ranks.countBuckets(), std::pair(int64_t(4), int64_t(44)));
  // Without joining, each by itself.
  ranks.setJoining(0);
  ranks.wait(start(second, DType::F32, "e"));
  EXPECT_EQ(second[1], 24);
  ranks.finish();
}

TEST_F(CommunicatorTest, KeepsEventsForProfiles) {
  ranks.record();
  script.mayEnd = 100;
  for (int i = 0; i < 100; ++i)
    ranks.wait(start("operation " + std::to_string(i)));
  std::vector<CommunicationEvent> events = ranks.getEvents();
  ASSERT_EQ(events.size(), 100u);
  EXPECT_EQ(events[42].what, "operation 42");
  EXPECT_LE(events[42].asked, events[42].begin);
  EXPECT_LE(events[42].begin, events[42].end);
  ranks.finish();
}

} // namespace
