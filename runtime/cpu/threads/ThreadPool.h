// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Work sharing between threads, for the kernels of this tree and for generated
// ones.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_THREADS_THREADPOOL_H
#define INGOT_RUNTIME_CPU_THREADS_THREADPOOL_H

#include <cstdint>
#include <optional>
#include <string>

namespace ingot::runtime {

/// Returns the number of threads in the pool: OMP_NUM_THREADS, else the number
/// of cores in the affinity mask, but no more than OpenMP's other settings and
/// control groups allow.
int getThreadCount();

/// Returns what users should know of the threads, once: that a setting is not
/// understood, that they asked for more than there may be, or that the system
/// has fewer.
std::optional<std::string> takeThreadNote();

/// Sets the number of threads, which is at least one. Not while there is work.
void setThreadCount(int count);

/// The number of threads for the work of the calling thread while the object
/// lives; 0 leaves it as it is. Work of threads of different numbers shares the
/// pool.
class ThreadCountScope {
public:
  explicit ThreadCountScope(int count);
  ThreadCountScope(const ThreadCountScope &) = delete;
  ThreadCountScope &operator=(const ThreadCountScope &) = delete;
  ~ThreadCountScope();

private:
  int before;
};

/// Ends the threads of the pool; work that follows starts others. Not while
/// there is work. What loads the runtime and unloads it calls it before.
void endThreads();

/// Forgets the threads of the pool in a process that was forked: they are the
/// parent's.
void forgetThreads();

/// Returns the number of cores in the affinity mask of the process.
int getCoreCount();

/// Whether the calling thread runs a part of some work: work that it divides
/// would have no helpers.
bool isInParallel();

/// Calls `body(data, thread, begin, end)` on disjoint ranges that cover
/// [0, extent), at most one per `grain` iterations and `perThread` for each
/// thread, and returns when all are done. Ranges depend on extent, grain and
/// thread count only; which thread runs one does not: a thread that is done
/// takes ranges from one that is not. `thread` is that of the call, less than
/// getThreadCount(). `body` must not throw.
void parallelRanges(int64_t extent, int64_t grain, int64_t perThread,
                    void (*body)(void *data, int64_t thread, int64_t begin,
                                 int64_t end),
                    void *data);

/// Ranges for each thread: a thread that is kept off its core delays the others
/// by one of them at most.
inline constexpr int64_t kRangesPerThread = 4;

/// Calls `body(begin, end)` on such ranges.
template <typename Body>
void parallelFor(int64_t extent, int64_t grain, Body body) {
  parallelRanges(
      extent, grain, kRangesPerThread,
      [](void *data, int64_t, int64_t begin, int64_t end) {
        (*static_cast<Body *>(data))(begin, end);
      },
      &body);
}

/// Calls `body(thread, begin, end)` on such ranges, for work in memory that
/// each thread has of its own.
template <typename Body>
void parallelTasks(int64_t extent, int64_t grain, int64_t perThread,
                   Body body) {
  parallelRanges(
      extent, grain, perThread,
      [](void *data, int64_t thread, int64_t begin, int64_t end) {
        (*static_cast<Body *>(data))(thread, begin, end);
      },
      &body);
}

/// Splits [0, extent) into a range per thread, and calls
/// `body(share, begin, end)`: for memory that belongs to a range, not to the
/// thread that runs it. No two ranges have the same `share`, which is less than
/// getThreadCount().
template <typename Body> void parallelShares(int64_t extent, Body body) {
  int64_t threads = getThreadCount();
  parallelTasks(threads, 1, 1, [&](int64_t, int64_t first, int64_t last) {
    for (int64_t share = first; share < last; ++share) {
      int64_t begin = extent * share / threads;
      int64_t end = extent * (share + 1) / threads;
      if (begin < end)
        body(share, begin, end);
    }
  });
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_THREADS_THREADPOOL_H
