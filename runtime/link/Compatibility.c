// SPDX-License-Identifier: Apache-2.0
//
// Functions that the archives of trainers expect of a C library newer than
// 2.28, the oldest that trainers run with. <sys/stat.h> is not included: it
// declares them in the way of the library at hand.

#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

//===----------------------------------------------------------------------===//
// Files: linked into each program before 2.33
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
// Threads
//===----------------------------------------------------------------------===//

/// Whether there is one thread, of which libstdc++ makes use where it counts
/// references (2.32). Never certain here.
char __libc_single_threaded = 0;

/// The number of the thread in the system (2.30).
pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// A random number (2.36), of which std::random_device makes use.
uint32_t arc4random(void) {
  uint32_t number = 0;
  while (getentropy(&number, sizeof(number)) != 0 && errno == EINTR)
    ;
  return number;
}

/// Memory taken by malloc, counted in 64 bits (2.33). The older count wraps
/// beyond 4 GiB.
struct mallinfo2 mallinfo2(void) {
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
  struct mallinfo from = mallinfo();
  return (struct mallinfo2){.arena = (unsigned)from.arena,
                            .ordblks = (unsigned)from.ordblks,
                            .smblks = (unsigned)from.smblks,
                            .hblks = (unsigned)from.hblks,
                            .hblkhd = (unsigned)from.hblkhd,
                            .usmblks = (unsigned)from.usmblks,
                            .fsmblks = (unsigned)from.fsmblks,
                            .uordblks = (unsigned)from.uordblks,
                            .fordblks = (unsigned)from.fordblks,
                            .keepcost = (unsigned)from.keepcost};
}
