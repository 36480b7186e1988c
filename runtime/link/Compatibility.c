// SPDX-License-Identifier: Apache-2.0
//
// What the archives that trainers are linked from expect of a C library newer
// than 2.28, the oldest that trainers run with. The headers of the C library
// are not included: they declare these functions in their own ways.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

typedef void Constructor(int, char **, char **);
extern Constructor *const __init_array_start[]
    __attribute__((visibility("hidden")));
extern Constructor *const __init_array_end[]
    __attribute__((visibility("hidden")));
void _init(void);

/// Runs the program's constructors (Start.S).
__attribute__((visibility("hidden"))) void
ingot_run_constructors(int count, char **arguments, char **environment) {
  _init();
  size_t constructors = (size_t)(__init_array_end - __init_array_start);
  for (size_t i = 0; i < constructors; ++i)
    __init_array_start[i](count, arguments, environment);
}

//===----------------------------------------------------------------------===//
// Files: macros before 2.33
//===----------------------------------------------------------------------===//

struct stat;
int __xstat(int version, const char *path, struct stat *result);
int __lxstat(int version, const char *path, struct stat *result);
int __fxstat(int version, int file, struct stat *result);
int __fxstatat(int version, int folder, const char *path, struct stat *result,
               int flags);

#ifdef __x86_64__
enum { StatVersion = 1 };
#else
enum { StatVersion = 0 };
#endif

int stat(const char *path, struct stat *result) {
  return __xstat(StatVersion, path, result);
}
int lstat(const char *path, struct stat *result) {
  return __lxstat(StatVersion, path, result);
}
int fstat(int file, struct stat *result) {
  return __fxstat(StatVersion, file, result);
}
int fstatat(int folder, const char *path, struct stat *result, int flags) {
  return __fxstatat(StatVersion, folder, path, result, flags);
}
// Files of any size have the same functions on machines of 64 bits.
int stat64(const char *path, struct stat *result)
    __attribute__((alias("stat")));
int lstat64(const char *path, struct stat *result)
    __attribute__((alias("lstat")));
int fstat64(int file, struct stat *result) __attribute__((alias("fstat")));
int fstatat64(int folder, const char *path, struct stat *result, int flags)
    __attribute__((alias("fstatat")));

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

/// A random number (2.36), of which std::random_device makes use.
uint32_t arc4random(void) {
  uint32_t number = 0;
  while (getentropy(&number, sizeof(number)) != 0 && errno == EINTR)
    ;
  return number;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

/// Whether there is one thread, of which libstdc++ makes use where it counts
/// references (2.32). Never certain here.
char __libc_single_threaded = 0;

/// The number of the thread in the system (2.30).
pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

typedef int ClockWait(pthread_cond_t *, pthread_mutex_t *, clockid_t,
                      const struct timespec *);

static ClockWait *clockWait;
static void findClockWait(void) {
  clockWait =
      (ClockWait *)dlvsym(RTLD_DEFAULT, "pthread_cond_clockwait", "GLIBC_2.30");
}

/// Waits until a time by a clock (2.30), by the C library's function where
/// there is one. Otherwise by the time of day: who changes that meanwhile
/// changes the wait.
int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           clockid_t clock, const struct timespec *until) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, findClockWait);
  if (clockWait)
    return clockWait(condition, mutex, clock, until);
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
