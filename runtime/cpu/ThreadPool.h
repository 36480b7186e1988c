// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The only thread pool of the process: that of libgomp, which the vendor's
// library uses as well, so that kernels and library calls run on the same
// threads.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_THREADPOOL_H
#define INGOT_RUNTIME_CPU_THREADPOOL_H

#include <cstdint>

namespace ingot::runtime {

/// Returns the number of threads in the pool: OMP_NUM_THREADS, else the number
/// of cores in the affinity mask, but no more than there can be. The first call
/// makes libgomp give that number to everyone, so that it comes before the
/// first call of a library.
int getThreadCount();

/// Makes idle threads sleep soon, by restarting the program with libgomp's
/// setting for it. Returns if the setting is made, by this function or by the
/// user, or if it cannot be made (docs/design/waiting.md).
void limitSpinning(char *const *argv);

/// Calls `body(data, begin, end)` on disjoint ranges that cover [0, extent), at
/// most one per `grain` iterations, and returns when all are done. Ranges
/// depend on extent, grain and thread count only. `body` must not throw.
void parallelFor(int64_t extent, int64_t grain,
                 void (*body)(void *data, int64_t begin, int64_t end),
                 void *data);

/// Calls `body(begin, end)` on the same ranges.
template <typename Body>
void parallelFor(int64_t extent, int64_t grain, Body body) {
  parallelFor(
      extent, grain,
      [](void *data, int64_t begin, int64_t end) {
        (*static_cast<Body *>(data))(begin, end);
      },
      &body);
}

/// Splits [0, extent) into a range per thread, and calls
/// `body(thread, begin, end)`. No two ranges have the same `thread`, which is
/// less than getThreadCount().
template <typename Body> void parallelShares(int64_t extent, Body body) {
  int64_t threads = getThreadCount();
  parallelFor(threads, 1, [&](int64_t first, int64_t last) {
    for (int64_t thread = first; thread < last; ++thread) {
      int64_t begin = extent * thread / threads;
      int64_t end = extent * (thread + 1) / threads;
      if (begin < end)
        body(thread, begin, end);
    }
  });
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_THREADPOOL_H
