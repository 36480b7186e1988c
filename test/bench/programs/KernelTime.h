// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The time that benchmarks of kernels report.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_BENCH_PROGRAMS_KERNELTIME_H
#define INGOT_TEST_BENCH_PROGRAMS_KERNELTIME_H

#include "runtime/cpu/threads/ThreadPool.h"

#include <ctime>

namespace ingot::runtime::bench {

/// Seconds of `run`: of the processor with one thread, which other programs on
/// the machine do not lengthen, and of the clock with several.
template <typename Function> double measure(Function run) {
  auto now = [] {
    timespec time = {};
    clock_gettime(getThreadCount() == 1 ? CLOCK_PROCESS_CPUTIME_ID
                                        : CLOCK_MONOTONIC,
                  &time);
    return static_cast<double>(time.tv_sec) +
           static_cast<double>(time.tv_nsec) * 1e-9;
  };
  double start = now();
  run();
  return now() - start;
}

} // namespace ingot::runtime::bench

#endif // INGOT_TEST_BENCH_PROGRAMS_KERNELTIME_H
