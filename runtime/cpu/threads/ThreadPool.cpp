// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Threads that help the one that runs the step (docs/design/cpu/waiting.md). It
// waits for those only that have begun a part of the work, so that a thread
// that something else keeps off its core delays nobody.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/threads/ThreadPool.h"

#include "runtime/core/Text.h"
#include "runtime/core/machine/ControlGroups.h"
#include "runtime/core/machine/OpenMpSettings.h"
#include "runtime/core/machine/Processors.h"
#include "runtime/core/machine/Threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <sched.h>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace ingot::runtime;

/// A problem with the threads, and whether it has been reported.
enum class ThreadProblem { None, Ignored, TooMany, TooFew, Taken };
static std::atomic<ThreadProblem> threadProblem = ThreadProblem::None;

/// Remembers the first problem.
static void setProblem(ThreadProblem problem) {
  ThreadProblem none = ThreadProblem::None;
  threadProblem.compare_exchange_strong(none, problem);
}

static int readThreadCount() {
  const OpenMpSettings &settings = OpenMpSettings::get();
  // The calling thread is the first of the pool.
  bindThread(settings.getPlace(0));
  if (!settings.ignored.empty())
    setProblem(ThreadProblem::Ignored);
  if (!settings.isParallel)
    return 1;
  int64_t count = std::min(settings.threads, settings.threadLimit);
  // A container may have less of the processors' time than it has processors,
  // which more threads would only divide.
  if (!std::getenv("OMP_NUM_THREADS"))
    count = std::min(count, readCpuQuota());
  else if (count > kMostThreads)
    setProblem(ThreadProblem::TooMany);
  return static_cast<int>(std::min<int64_t>(count, kMostThreads));
}

std::optional<std::string> ingot::runtime::takeThreadNote() {
  ThreadProblem problem = threadProblem.load(std::memory_order_relaxed);
  if (problem == ThreadProblem::None || problem == ThreadProblem::Taken)
    return std::nullopt;
  threadProblem = ThreadProblem::Taken;
  auto wordsOf = [](const char *name) {
    const char *words = std::getenv(name);
    return makePrintable(std::string(words ? words : "").substr(0, 40));
  };
  std::string threads = std::to_string(getThreadCount());
  if (problem == ThreadProblem::Ignored) {
    const std::string &name = OpenMpSettings::get().ignored;
    std::string value = name + "='" + wordsOf(name.c_str()) + "' is ";
    return name == "OMP_NUM_THREADS"
               ? value + "no number of threads: this run has " + threads
               : value + "not understood: this run goes on without it";
  }
  if (problem == ThreadProblem::TooMany)
    return "OMP_NUM_THREADS asks for " + wordsOf("OMP_NUM_THREADS") +
           " threads: a trainer has " + std::to_string(kMostThreads) +
           " at most";
  return "the system has fewer threads for this process than " + threads +
         ", which makes steps slower (ulimit -u and pids.max are the limits)";
}

/// The number of threads, which is read at the first use.
static std::atomic<int> &threadCount() {
  static std::atomic<int> count = readThreadCount();
  return count;
}

int ingot::runtime::getCoreCount() {
  return std::max(1, static_cast<int>(getAllowedProcessors().size()));
}

/// The number of threads for the work of this thread, or 0.
static thread_local int ownThreadCount = 0;

int ingot::runtime::getThreadCount() {
  return ownThreadCount != 0 ? ownThreadCount
                             : threadCount().load(std::memory_order_relaxed);
}

ThreadCountScope::ThreadCountScope(int count) : before(ownThreadCount) {
  if (count != 0)
    ownThreadCount = std::min(count, kMostThreads);
}

ThreadCountScope::~ThreadCountScope() { ownThreadCount = before; }

void ingot::runtime::setThreadCount(int count) {
  threadCount() = std::min(count, kMostThreads);
}

/// The first iteration of range `index` of `count`, whose sizes differ by at
/// most one.
static int64_t getRangeBegin(int64_t extent, int64_t index, int64_t count) {
  return extent / count * index + std::min(index, extent % count);
}

namespace {

/// How many of its ranges a thread has begun, on a cache line of its own.
struct alignas(64) Counter {
  std::atomic<int64_t> begun = 0;
};

/// Ranges of an extent. Each thread has a row of them, which it begins in
/// order; then it helps others with theirs. So a slow thread delays one range,
/// not all of its own, and otherwise threads find in their caches what they
/// wrote before.
struct Work {
  int64_t extent, ranges, threads;
  /// The number for work that is divided inside of this one.
  int threadCount;
  void (*body)(void *, int64_t thread, int64_t, int64_t);
  void *data;
  Counter *counters;

  void run(int64_t thread) const {
    for (int64_t i = 0; i < threads; ++i) {
      int64_t owner = (thread + i) % threads;
      int64_t next = getRangeBegin(ranges, owner, threads);
      int64_t last = getRangeBegin(ranges, owner + 1, threads);
      for (;;) {
        int64_t range = next + counters[owner].begun.fetch_add(
                                   1, std::memory_order_relaxed);
        if (range >= last)
          break;
        body(data, thread, getRangeBegin(extent, range, ranges),
             getRangeBegin(extent, range + 1, ranges));
      }
    }
  }
};

/// Calls `isDone` until it returns true, for about 40 us; returns whether it
/// did.
template <typename Condition> bool spin(Condition isDone) {
  using Clock = std::chrono::steady_clock;
  constexpr auto most = std::chrono::microseconds(40);
  Clock::time_point start = Clock::now();
  do {
    for (int i = 0; i < 32; ++i) {
      if (isDone())
        return true;
#ifdef __x86_64__
      __builtin_ia32_pause();
#endif
    }
  } while (Clock::now() - start < most);
  return false;
}

class Pool {
public:
  Pool() = default;
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;
  /// Ends the helpers.
  ~Pool() {
    isEnding = true;
    ++rounds;
    rounds.notify_all();
    for (std::thread &helper : helpers)
      helper.join();
  }

  /// Whether the thread works on a part of some work.
  static thread_local bool isHelper;

  /// Runs the work on the calling thread and on helpers.
  void run(const Work &work) {
    // Work inside of work, and work of a second thread, has no helpers.
    if (isHelper)
      return work.run(0);
    std::unique_lock lock(isRunning, std::try_to_lock);
    if (!lock)
      return work.run(0);
    while (static_cast<int64_t>(helpers.size()) + 1 < work.threads)
      if (!addHelper()) {
        setProblem(ThreadProblem::TooFew);
        break;
      }
    current = &work;
    uint32_t round = rounds.load(std::memory_order_relaxed) + 1;
    // In this order, so that no helper enters a round before it is open.
    state.store(kOpen | uint64_t(round) << 32);
    rounds.store(round);
    if (sleeping.load() > 0)
      rounds.notify_all();
    isHelper = true;
    work.run(0);
    isHelper = false;
    state.fetch_and(~kOpen);
    auto allLeft = [&] { return (state.load() & kCount) == 0; };
    while (!spin(allLeft))
      sched_yield();
  }

private:
  /// The state is the number of a round, whether helpers may enter it, and how
  /// many are inside.
  static constexpr uint64_t kOpen = uint64_t(1) << 31, kCount = kOpen - 1;

  bool addHelper() {
    auto number = static_cast<int64_t>(helpers.size()) + 1;
    uint32_t seen = rounds.load(std::memory_order_relaxed);
    std::thread thread;
    bool isMade =
        startThread(thread, [this, number, seen] { help(number, seen); });
    if (isMade)
      helpers.push_back(std::move(thread));
    return isMade;
  }

  void help(int64_t thread, uint32_t seen) {
    isHelper = true;
    bindThread(OpenMpSettings::get().getPlace(thread));
    for (;;) {
      auto isNew = [&] { return rounds.load() != seen; };
      if (!spin(isNew)) {
        ++sleeping;
        rounds.wait(seen);
        --sleeping;
      }
      seen = rounds.load();
      if (isEnding)
        return;
      if (enter(seen)) {
        if (thread < current->threads) {
          ownThreadCount = current->threadCount;
          current->run(thread);
        }
        --state;
      }
    }
  }

  /// Enters the round unless it is over.
  bool enter(uint32_t round) {
    uint64_t now = state.load();
    while ((now & kOpen) && now >> 32 == round)
      if (state.compare_exchange_weak(now, now + 1))
        return true;
    return false;
  }

  std::mutex isRunning;
  std::vector<std::thread> helpers;
  std::atomic<bool> isEnding = false;
  const Work *current = nullptr;
  alignas(64) std::atomic<uint64_t> state = 0;
  alignas(64) std::atomic<uint32_t> rounds = 0;
  alignas(64) std::atomic<int> sleeping = 0;
};

thread_local bool Pool::isHelper = false;

} // namespace

/// The pool, from its first work on. A process ends without waiting for
/// helpers, so that nothing destroys it then.
static std::atomic<Pool *> pool = nullptr;

static Pool &getPool() {
  Pool *there = pool.load(std::memory_order_acquire);
  if (there)
    return *there;
  // Of several threads, one has its pool kept.
  auto made = std::make_unique<Pool>();
  if (pool.compare_exchange_strong(there, made.get()))
    return *made.release();
  return *there;
}

void ingot::runtime::endThreads() { delete pool.exchange(nullptr); }

void ingot::runtime::forgetThreads() { pool = nullptr; }

bool ingot::runtime::isInParallel() { return Pool::isHelper; }

void ingot::runtime::parallelRanges(
    int64_t extent, int64_t grain, int64_t perThread,
    void (*body)(void *, int64_t, int64_t, int64_t), void *data) {
  if (extent <= 0)
    return;
  grain = std::max<int64_t>(grain, 1);
  int64_t most = extent / grain + (extent % grain != 0);
  int64_t threads = std::min(most, static_cast<int64_t>(getThreadCount()));
  if (threads <= 1)
    return body(data, 0, 0, extent);
  // Only the counters of the threads are initialized.
  alignas(Counter) std::byte room[kMostThreads * sizeof(Counter)];
  auto *counters = reinterpret_cast<Counter *>(room);
  std::uninitialized_default_construct_n(counters, threads);
  getPool().run({extent, std::min(most, threads * perThread), threads,
                 getThreadCount(), body, data, counters});
}
