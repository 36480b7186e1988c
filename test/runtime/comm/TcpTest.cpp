// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Ranks that do not meet, or part, over TCP: threads of this process.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/WireCollectives.h"
#include "runtime/comm/tcp/TcpWire.h"
#include "runtime/core/Error.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace ingot::runtime;
using namespace std::chrono_literals;

namespace {

uint16_t findPort() {
  int error = 0;
  return Socket::listen(0, error).getOwn().getPort();
}

struct Tcp : testing::Test {
  uint16_t port = findPort();
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::vector<std::string> notes;

  ~Tcp() override { joinAll(); }
  void joinAll() {
    for (std::thread &thread : threads)
      thread.join();
    threads.clear();
  }
  Meeting describe(int64_t rank, int64_t size, std::chrono::seconds limit) {
    return {rank,
            size,
            "127.0.0.1",
            port,
            "run",
            limit,
            [this](const std::string &note) {
              std::lock_guard lock(mutex);
              notes.push_back(note);
            }};
  }
  bool hasNote(const std::string &part) {
    std::lock_guard lock(mutex);
    for (const std::string &note : notes)
      if (note.find(part) != std::string::npos)
        return true;
    return false;
  }
  /// Calls `body` for a rank in a thread.
  void start(const std::function<void()> &body) { threads.emplace_back(body); }
};

/// The error of a rank that does not meet the others.
std::string meetInVain(const Meeting &meeting,
                       ExitCode code = ExitCode::LostRank) {
  try {
    meetByTcp(meeting);
    return "has met them";
  } catch (const Error &error) {
    EXPECT_EQ(error.getCode(), code);
    return error.getWhere() + ": " + error.getWhat();
  }
}

void expectPart(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos)
      << "'" << text << "' has no '" << part << "'";
}

/// Sums ones until it fails, and returns why, or after `most` sums nothing.
std::string sumUntil(Collectives &ranks, std::atomic<bool> &isOver,
                     std::chrono::milliseconds patience = 20s) {
  std::vector<float> data(100000, 1);
  auto until = std::chrono::steady_clock::now() + patience;
  try {
    while (!isOver) {
      auto sum =
          ranks.startAllReduce(data.data(), 100000, DType::F32, Reduction::Sum);
      while (!sum->test()) {
        std::this_thread::sleep_for(1ms);
        if (std::chrono::steady_clock::now() > until)
          return sum->giveUp();
      }
    }
  } catch (const std::runtime_error &error) {
    return error.what();
  }
  return "";
}

TEST_F(Tcp, NamesWhoDoesNotCome) {
  for (int64_t rank : {0, 1, 3})
    start([this, rank] {
      std::string said = meetInVain(describe(rank, 4, 1s));
      expectPart(said, "rank " + std::to_string(rank) + ": has waited 1 s");
      expectPart(said, "for rank 2 to start");
    });
}

TEST_F(Tcp, NamesRankZeroIfItDoesNotCome) {
  std::string said = meetInVain(describe(1, 2, 1s));
  expectPart(said, "for rank 0 at 127.0.0.1:" + std::to_string(port));
  expectPart(said, "Connection refused");
  Meeting nowhere = describe(1, 2, 1s);
  nowhere.host = "no-such-host.invalid";
  expectPart(meetInVain(nowhere), "no-such-host.invalid");
}

/// Whoever else knocks neither enters nor keeps ranks out.
TEST_F(Tcp, RefusesForeigners) {
  std::string problem;
  start([&] {
    WireCollectives ranks(
        std::make_unique<TcpWire>(meetByTcp(describe(0, 2, 20s)), 20s));
    std::atomic<bool> isOver = false;
    expectPart(sumUntil(ranks, isOver), "rank 1 is lost");
  });
  Address here = Address::resolve("127.0.0.1", port, problem).at(0);
  std::vector<Socket> foreigners;
  for (int i = 0; i < 300; ++i) {
    Socket foreigner;
    for (int tries = 0; !foreigner && tries < 100; ++tries) {
      foreigner = Socket::connect(here, 1000, problem);
      if (!foreigner)
        std::this_thread::sleep_for(20ms);
    }
    ASSERT_TRUE(foreigner) << problem;
    // One speaks another protocol, one falls silent in the middle, others say
    // nothing.
    std::string said = i == 0   ? "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
                       : i == 1 ? "ingo"
                                : "";
    size_t count = said.size();
    if (count)
      foreigner.write(said.data(), count);
    foreigners.push_back(std::move(foreigner));
  }
  Meeting other = describe(1, 2, 1s);
  other.run = "another run";
  expectPart(meetInVain(other), "it is of another run");
  other = describe(1, 3, 1s);
  expectPart(meetInVain(other), "its WORLD_SIZE is 2, not 3");
  EXPECT_TRUE(hasNote("which is of another run"));
  EXPECT_TRUE(hasNote("whose number of ranks is 3"));
  WireCollectives ranks(
      std::make_unique<TcpWire>(meetByTcp(describe(1, 2, 20s)), 20s));
  std::vector<float> data(100000, 1);
  auto sum =
      ranks.startAllReduce(data.data(), 100000, DType::F32, Reduction::Sum);
  while (!sum->test())
    std::this_thread::yield();
  EXPECT_EQ(data[99999], 2);
}

TEST_F(Tcp, RefusesARankThatIsThere) {
  start([this] { expectPart(meetInVain(describe(0, 3, 3s)), "for rank 2"); });
  start([this] { expectPart(meetInVain(describe(1, 3, 3s)), "rank"); });
  std::this_thread::sleep_for(500ms);
  expectPart(meetInVain(describe(1, 3, 1s)),
             "another process has come as rank 1");
}

TEST_F(Tcp, SaysWhichPortIsTaken) {
  int error = 0;
  Socket taken = Socket::listen(port, error);
  expectPart(meetInVain(describe(0, 2, 1s), ExitCode::Failed),
             "cannot listen at port " + std::to_string(port) +
                 ": Address already in use");
}

TEST_F(Tcp, MeetsOverEveryFamily) {
  for (const char *host : {"127.0.0.1", "::1", "localhost"}) {
    port = findPort();
    std::string problem;
    std::vector<Address> addresses = Address::resolve(host, port, problem);
    int error = 0;
    Socket listener = Socket::listen(port, error);
    // Containers often have one family alone.
    if (addresses.empty() || !Socket::connect(addresses[0], 1000, problem))
      continue;
    listener.close();
    port = findPort();
    for (int64_t rank : {0, 1, 2})
      start([this, rank, host] {
        Meeting meeting = describe(rank, 3, 20s);
        meeting.host = host;
        EXPECT_EQ(meetByTcp(meeting).neighbors.size(), 2u);
      });
    joinAll();
  }
}

/// All name the rank that ended first, not the ones that ended because of it.
TEST_F(Tcp, NamesTheRankThatIsLost) {
  constexpr int64_t size = 5;
  for (int64_t lost = 0; lost < size; ++lost) {
    port = findPort();
    std::atomic<bool> never = false;
    for (int64_t rank = 0; rank < size; ++rank)
      start([&, rank] {
        WireCollectives ranks(std::make_unique<TcpWire>(
            meetByTcp(describe(rank, size, 20s)), 20s));
        if (rank == lost) {
          std::vector<float> data(100000, 1);
          for (int i = 0; i < 3; ++i) {
            auto sum = ranks.startAllReduce(data.data(), 100000, DType::F32,
                                            Reduction::Sum);
            while (!sum->test())
              std::this_thread::yield();
          }
          return;
        }
        expectPart(sumUntil(ranks, never),
                   "rank " + std::to_string(lost) + " is lost");
      });
    joinAll();
  }
}

/// A rank that is there and does nothing: stopped, or cut off.
TEST_F(Tcp, NamesTheRankThatDoesNotAnswer) {
  constexpr int64_t size = 4;
  for (int64_t stopped : {0, 2}) {
    port = findPort();
    std::atomic<bool> never = false;
    std::atomic<int> waiting = size - 1;
    for (int64_t rank = 0; rank < size; ++rank)
      start([&, rank] {
        WireCollectives ranks(std::make_unique<TcpWire>(
            meetByTcp(describe(rank, size, 20s)), 1s));
        if (rank == stopped) {
          while (waiting > 0)
            std::this_thread::sleep_for(10ms);
          return;
        }
        std::string said = sumUntil(ranks, never, 1500ms);
        std::string name = "rank " + std::to_string(stopped);
        EXPECT_TRUE(said == name + " does not answer" ||
                    said.starts_with(name + " is lost"))
            << said;
        // The transport stays until all have spoken.
        --waiting;
        while (waiting > 0)
          std::this_thread::sleep_for(10ms);
      });
    joinAll();
  }
}

/// A number of a process is not enough to read its memory.
TEST_F(Tcp, ReadsTheMemoryOfItsRankOnly) {
  std::array<uint64_t, 2> number = {1, 2}, other = {3, 4};
  MemoryClaim claim;
  EXPECT_FALSE(claim.holds());
  claim.claimOwn(number);
  EXPECT_TRUE(claim.holds());
  claim.address = reinterpret_cast<uintptr_t>(&other);
  EXPECT_FALSE(claim.holds());
  claim.address = 0;
  EXPECT_FALSE(claim.holds());
  claim.claimOwn(number);
  claim.process = INT32_MAX;
  EXPECT_FALSE(claim.holds());
}

/// Large messages do not wait for those that their sender started before.
TEST_F(Tcp, TakesOffersAsTheyAreAskedFor) {
  for (int64_t rank : {0, 1})
    start([this, rank] {
      TcpWire wire(meetByTcp(describe(rank, 2, 20s)), 20s);
      std::vector<std::vector<char>> data;
      for (int i = 0; i < 4; ++i)
        data.emplace_back(i % 2 ? 300000 : 100000, rank == 0 ? i : -1);
      std::vector<Wire::Transfer> transfers;
      // The order in which rank 1 asks for what rank 0 sends in its order.
      for (int i : rank == 0 ? std::vector<int>{0, 1, 2, 3}
                             : std::vector<int>{3, 2, 1, 0}) {
        auto bytes = static_cast<int64_t>(data[i].size());
        transfers.push_back(rank == 0
                                ? wire.send(1, i, data[i].data(), bytes)
                                : wire.receive(0, i, data[i].data(), bytes));
        for (auto until = std::chrono::steady_clock::now() + 10s;
             rank == 1 && !wire.test(transfers.back());) {
          ASSERT_LT(std::chrono::steady_clock::now(), until) << i;
          std::this_thread::yield();
        }
      }
      if (rank == 0)
        for (Wire::Transfer transfer : transfers)
          while (!wire.test(transfer))
            std::this_thread::yield();
      for (int i = 0; i < 4; ++i)
        EXPECT_TRUE(data[i] == std::vector<char>(data[i].size(), i)) << i;
      wire.finish();
    });
}

/// Ranks at different points of the run.
TEST_F(Tcp, NamesAMessageThatIsNotExpected) {
  for (int64_t rank : {0, 1})
    start([this, rank] {
      TcpWire wire(meetByTcp(describe(rank, 2, 20s)), 20s);
      std::vector<char> data(100);
      Wire::Transfer sent = wire.send(1 - rank, 1, data.data(), 50 + rank);
      EXPECT_TRUE(wire.test(sent));
      Wire::Transfer transfer = wire.receive(1 - rank, 1, data.data(), 70);
      auto wait = [&] {
        while (!wire.test(transfer))
          std::this_thread::yield();
      };
      try {
        wait();
        ADD_FAILURE();
      } catch (const std::runtime_error &error) {
        std::string said = error.what();
        EXPECT_TRUE(said.find("bytes, not 70: it is at another point") !=
                        std::string::npos ||
                    said.find("is lost") != std::string::npos)
            << said;
      }
      EXPECT_THROW(wait(), std::runtime_error);
    });
}

} // namespace
