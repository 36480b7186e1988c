// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Work sharing: ranges cover the extent once, and more than one thread works.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/threads/ThreadPool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

using namespace ingot::runtime;

namespace {

struct Ranges {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  std::set<std::thread::id> threads;
};

Ranges runParallel(int64_t extent, int64_t grain) {
  Ranges result;
  std::mutex mutex;
  parallelFor(extent, grain, [&](int64_t begin, int64_t end) {
    std::lock_guard lock(mutex);
    result.ranges.push_back({begin, end});
    result.threads.insert(std::this_thread::get_id());
  });
  std::sort(result.ranges.begin(), result.ranges.end());
  return result;
}

TEST(ThreadPool, TwoThreadsRan) {
  if (getThreadCount() < 2)
    GTEST_SKIP() << "one thread";
  // The first thread waits for another one, which it would else do without.
  std::mutex mutex;
  std::set<std::thread::id> threads;
  auto count = [&] {
    std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    return threads.size();
  };
  auto start = std::chrono::steady_clock::now();
  parallelFor(1000, 1, [&](int64_t, int64_t) {
    while (count() < 2 &&
           std::chrono::steady_clock::now() - start < std::chrono::seconds(20))
      std::this_thread::yield();
  });
  EXPECT_GE(threads.size(), 2u);
}

TEST(ThreadPool, RangesCoverTheExtentOnce) {
  for (int64_t extent : {1, 2, 3, 7, 64, 1001})
    for (int64_t grain : {0, 1, 5, 64, 5000}) {
      int64_t at = 0;
      for (auto [begin, end] : runParallel(extent, grain).ranges) {
        EXPECT_EQ(begin, at);
        EXPECT_LT(begin, end);
        at = end;
      }
      EXPECT_EQ(at, extent);
    }
}

TEST(ThreadPool, GrainLimitsThreads) {
  EXPECT_EQ(runParallel(100, 100).ranges.size(), 1u);
  EXPECT_LE(runParallel(101, 100).ranges.size(), 2u);
}

TEST(ThreadPool, OthersTakeTheRangesOfASlowThread) {
  if (getThreadCount() < 2)
    GTEST_SKIP() << "one thread";
  // The thread of the first range, which has more of its own, does nothing else
  // until all others are done.
  constexpr int64_t ranges = 40;
  std::atomic<int64_t> done = 0;
  parallelTasks(ranges, 1, ranges,
                [&](int64_t thread, int64_t begin, int64_t end) {
                  EXPECT_LT(thread, getThreadCount());
                  EXPECT_EQ(end, begin + 1);
                  auto start = std::chrono::steady_clock::now();
                  while (begin == 0 && done < ranges - 1 &&
                         std::chrono::steady_clock::now() - start <
                             std::chrono::seconds(20))
                    std::this_thread::yield();
                  if (begin == 0)
                    EXPECT_EQ(done, ranges - 1);
                  ++done;
                });
  EXPECT_EQ(done, ranges);
}

TEST(ThreadPool, AThreadHasItsOwnNumberOfThreads) {
  int before = getThreadCount();
  std::atomic<int> seen = 0;
  {
    ThreadCountScope scope(before + 3);
    EXPECT_EQ(getThreadCount(), before + 3);
    // In helpers, too.
    parallelTasks(64, 1, 64, [&](int64_t, int64_t, int64_t) {
      seen += getThreadCount() == before + 3;
    });
    std::thread([&] { EXPECT_EQ(getThreadCount(), before); }).join();
    ThreadCountScope same(0);
    EXPECT_EQ(getThreadCount(), before + 3);
  }
  EXPECT_EQ(seen, 64);
  EXPECT_EQ(getThreadCount(), before);
}

/// The threads of this process.
int64_t countThreads() {
  int64_t count = 0;
  for ([[maybe_unused]] const auto &entry :
       std::filesystem::directory_iterator("/proc/self/task"))
    ++count;
  return count;
}

TEST(ThreadPool, ThreadsEndAndStartAgain) {
  for (int i = 0; i < 3; ++i) {
    ThreadCountScope scope(4);
    int64_t sum = 0;
    std::mutex mutex;
    parallelFor(100, 1, [&](int64_t begin, int64_t end) {
      std::lock_guard lock(mutex);
      sum += end - begin;
    });
    EXPECT_EQ(sum, 100);
    int64_t running = countThreads();
    EXPECT_GE(running, 4);
    endThreads();
    // The system, and more so an emulator, lists threads for a while after they
    // have been joined.
    for (int tries = 0; tries < 1000 && countThreads() > running - 3; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_LE(countThreads(), running - 3);
  }
}

TEST(ThreadPool, NothingToDo) { EXPECT_TRUE(runParallel(0, 1).ranges.empty()); }

TEST(ThreadPool, SameRangesEveryTime) {
  EXPECT_EQ(runParallel(997, 3).ranges, runParallel(997, 3).ranges);
}

TEST(ThreadPool, EachThreadHasOneShare) {
  for (int64_t extent : {0, 1, 2, 7, 1001}) {
    std::mutex mutex;
    std::vector<std::pair<int64_t, int64_t>> shares;
    std::set<int64_t> threads;
    parallelShares(extent, [&](int64_t thread, int64_t begin, int64_t end) {
      std::lock_guard lock(mutex);
      EXPECT_LT(thread, getThreadCount());
      EXPECT_TRUE(threads.insert(thread).second);
      shares.push_back({begin, end});
    });
    std::sort(shares.begin(), shares.end());
    int64_t at = 0;
    for (auto [begin, end] : shares) {
      EXPECT_EQ(begin, at);
      at = end;
    }
    EXPECT_EQ(at, extent);
  }
}

} // namespace
