// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Work sharing on libgomp's threads. It calls the library instead of using
// pragmas, which clang's -fopenmp=libgomp compiles to serial code.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/ThreadPool.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <unistd.h>

// libgomp's interface to compiled code, and what <omp.h> declares.
extern "C" {
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads,
                   unsigned flags);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_get_max_threads(void);
void omp_set_num_threads(int count);
void omp_set_dynamic(int isDynamic);
}

using namespace ingot::runtime;

namespace {

struct Work {
  int64_t extent;
  void (*body)(void *, int64_t, int64_t);
  void *data;
};

} // namespace

/// Returns how many threads really come of those that are asked for: limits on
/// threads (OMP_THREAD_LIMIT, OMP_MAX_ACTIVE_LEVELS) are not part of what
/// libgomp says.
static int countThreads() {
  omp_set_dynamic(0);
  int asked = omp_get_max_threads(), came = 1;
  auto count = [](void *came) {
    if (omp_get_thread_num() == 0)
      *static_cast<int *>(came) = omp_get_num_threads();
  };
  if (asked > 1)
    GOMP_parallel(count, &came, static_cast<unsigned>(asked), 0);
  return came;
}

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
  execv(path, argv);
}

/// The first iteration of range `index` of `count`, whose sizes differ by at
/// most one.
static int64_t getRangeBegin(int64_t extent, int64_t index, int64_t count) {
  return extent / count * index + std::min(index, extent % count);
}

static void runRange(void *opaque) {
  const Work &work = *static_cast<Work *>(opaque);
  // The pool may run fewer threads than requested.
  int64_t count = omp_get_num_threads(), index = omp_get_thread_num();
  int64_t begin = getRangeBegin(work.extent, index, count);
  int64_t end = getRangeBegin(work.extent, index + 1, count);
  if (begin < end)
    work.body(work.data, begin, end);
}

void ingot::runtime::parallelFor(int64_t extent, int64_t grain,
                                 void (*body)(void *, int64_t, int64_t),
                                 void *data) {
  if (extent <= 0)
    return;
  grain = std::max<int64_t>(grain, 1);
  int64_t threads = std::min<int64_t>(extent / grain + (extent % grain != 0),
                                      getThreadCount());
  if (threads <= 1)
    return body(data, 0, extent);
  Work work = {extent, body, data};
  GOMP_parallel(runRange, &work, static_cast<unsigned>(threads), 0);
}
