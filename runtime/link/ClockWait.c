// SPDX-License-Identifier: Apache-2.0
//
// The wait for a condition until a time by a clock, which the C library has
// since 2.30 and libstdc++ calls.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

typedef int ClockWait(pthread_cond_t *, pthread_mutex_t *, clockid_t,
                      const struct timespec *);

static ClockWait *clockWait;
static void findClockWait(void) {
  clockWait =
      (ClockWait *)dlvsym(RTLD_DEFAULT, "pthread_cond_clockwait", "GLIBC_2.30");
}

/// Waits until a time by a clock, with what older libraries have: by the time
/// of day. The wait is wrong by as much as that is changed meanwhile.
__attribute__((visibility("hidden"))) int
ingot_wait_by_day(pthread_cond_t *condition, pthread_mutex_t *mutex,
                  clockid_t clock, const struct timespec *until) {
  enum { Second = 1000000000 };
  struct timespec now, day;
  if (clock_gettime(clock, &now) != 0 ||
      clock_gettime(CLOCK_REALTIME, &day) != 0)
    return errno;
  day.tv_sec += until->tv_sec - now.tv_sec;
  day.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (day.tv_nsec < 0) {
    day.tv_nsec += Second;
    --day.tv_sec;
  } else if (day.tv_nsec >= Second) {
    day.tv_nsec -= Second;
    ++day.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, &day);
}

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           clockid_t clock, const struct timespec *until) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, findClockWait);
  return (clockWait ? clockWait : ingot_wait_by_day)(condition, mutex, clock,
                                                     until);
}
