// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Threads that help the one that runs the step (docs/design/cpu/waiting.md). It
// waits for those only that have begun a part of the work, so that a thread
// that something else keeps off its core delays nobody.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/ThreadPool.h"

#include "runtime/core/machine/ControlGroups.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#include <vector>

// libgomp's interface to compiled code, and what <omp.h> declares: the vendor's
// library runs on OpenMP, and both follow its settings.
extern "C" {
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads,
                   unsigned flags);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_get_max_threads(void);
void omp_set_num_threads(int count);
void omp_set_dynamic(int isDynamic);
int omp_get_num_places(void);
int omp_get_num_procs(void);
int omp_get_place_num_procs(int place);
void omp_get_place_proc_ids(int place, int *ids);
}

using namespace ingot::runtime;

/// Returns how many threads really come of those that are asked for: limits on
/// threads (OMP_THREAD_LIMIT, OMP_MAX_ACTIVE_LEVELS) are not part of what
/// libgomp says.
static int countThreads() {
  omp_set_dynamic(0);
  int asked = omp_get_max_threads(), came = 1;
  // libgomp counts the processors of the affinity mask. A container may have
  // less of their time, which more threads would only divide.
  if (!std::getenv("OMP_NUM_THREADS")) {
    asked = static_cast<int>(std::min<int64_t>(asked, readCpuQuota()));
    omp_set_num_threads(asked);
  }
  auto count = [](void *came) {
    if (omp_get_thread_num() == 0)
      *static_cast<int *>(came) = omp_get_num_threads();
  };
  if (asked > 1)
    GOMP_parallel(count, &came, static_cast<unsigned>(asked), 0);
  return came;
}

int ingot::runtime::getCoreCount() { return omp_get_num_procs(); }

int ingot::runtime::getThreadCount() {
  static const int available = countThreads();
  // Libraries wait for as many threads as libgomp says, for ever. Its settings
  // are those of the calling thread.
  thread_local const bool isSet = [] {
    omp_set_dynamic(0);
    omp_set_num_threads(available);
    return true;
  }();
  (void)isSet;
  return omp_get_max_threads();
}

/// Lets the calling thread run on all places again, where OpenMP has bound it
/// to one: a program that it starts would see no other processor.
static void freePlace() {
  int places = omp_get_num_places();
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (int place = 0; place < places; ++place) {
    std::vector<int> ids(omp_get_place_num_procs(place));
    omp_get_place_proc_ids(place, ids.data());
    for (int id : ids)
      CPU_SET(id, &cpus);
  }
  if (places > 0)
    (void)sched_setaffinity(0, sizeof(cpus), &cpus);
}

void ingot::runtime::limitSpinning(char *const *argv) {
  // libgomp reads its settings before main. By default idle threads spin for
  // 3 ms, which on a busy machine keeps the thread that they wait for off its
  // core; this setting is about 40 us.
  if (std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT"))
    return;
  char path[PATH_MAX];
  ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
  if (size <= 0 || setenv("GOMP_SPINCOUNT", "4000", 0) != 0)
    return;
  path[size] = '\0';
  freePlace();
  execv(path, argv);
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
  /// Runs the work on the calling thread and on helpers.
  void run(const Work &work) {
    // Work inside of work, and work of a second thread, has no helpers.
    if (isHelper)
      return work.run(0);
    std::unique_lock lock(isRunning, std::try_to_lock);
    if (!lock)
      return work.run(0);
    while (static_cast<int64_t>(helpers.size()) + 1 < work.threads)
      if (!addHelper())
        break;
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

  struct Helper {
    Pool *pool;
    int64_t thread;
  };

  bool addHelper() {
    auto helper = std::make_unique<Helper>(
        Helper{this, static_cast<int64_t>(helpers.size()) + 1});
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    limitPlace(attributes, helper->thread);
    pthread_t thread;
    bool isMade = pthread_create(
                      &thread, &attributes,
                      [](void *data) -> void * {
                        const auto &helper = *static_cast<Helper *>(data);
                        helper.pool->help(helper.thread);
                        return nullptr;
                      },
                      helper.get()) == 0;
    pthread_attr_destroy(&attributes);
    if (isMade)
      helpers.push_back(std::move(helper));
    return isMade;
  }

  /// Where OpenMP binds threads to places, it has bound the calling one, and
  /// others would inherit its place.
  static void limitPlace(pthread_attr_t &attributes, int64_t thread) {
    int places = omp_get_num_places();
    if (places == 0)
      return;
    int place = static_cast<int>(thread % places);
    std::vector<int> ids(omp_get_place_num_procs(place));
    omp_get_place_proc_ids(place, ids.data());
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (int id : ids)
      CPU_SET(id, &cpus);
    pthread_attr_setaffinity_np(&attributes, sizeof(cpus), &cpus);
  }

  [[noreturn]] void help(int64_t thread) {
    isHelper = true;
    uint32_t seen = 0;
    for (;;) {
      auto isNew = [&] { return rounds.load() != seen; };
      if (!spin(isNew)) {
        ++sleeping;
        rounds.wait(seen);
        --sleeping;
      }
      seen = rounds.load();
      if (enter(seen)) {
        if (thread < current->threads)
          current->run(thread);
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
  /// Helpers live as long as the process.
  std::vector<std::unique_ptr<Helper>> helpers;
  const Work *current = nullptr;
  alignas(64) std::atomic<uint64_t> state = 0;
  alignas(64) std::atomic<uint32_t> rounds = 0;
  alignas(64) std::atomic<int> sleeping = 0;
  /// Whether the thread works on a part of some work.
  static thread_local bool isHelper;
};

thread_local bool Pool::isHelper = false;

/// The most threads that have ranges of their own.
constexpr int64_t kMostThreads = 256;

} // namespace

void ingot::runtime::parallelRanges(
    int64_t extent, int64_t grain, int64_t perThread,
    void (*body)(void *, int64_t, int64_t, int64_t), void *data) {
  if (extent <= 0)
    return;
  grain = std::max<int64_t>(grain, 1);
  int64_t most = extent / grain + (extent % grain != 0);
  int64_t threads =
      std::min({most, static_cast<int64_t>(getThreadCount()), kMostThreads});
  if (threads <= 1)
    return body(data, 0, 0, extent);
  // Only the counters of the threads are initialized.
  alignas(Counter) std::byte room[kMostThreads * sizeof(Counter)];
  auto *counters = reinterpret_cast<Counter *>(room);
  std::uninitialized_default_construct_n(counters, threads);
  // The process ends without waiting for helpers, so that the pool must not be
  // destroyed.
  static Pool &pool = *new Pool;
  pool.run({extent, std::min(most, threads * perThread), threads, body, data,
            counters});
}
