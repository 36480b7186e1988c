// SPDX-License-Identifier: Apache-2.0

#include "runtime/embed/FileSizeErrors.h"

#include <ctime>
#include <pthread.h>

using namespace ingot::runtime;

/// The set of the one signal.
static sigset_t getSizeSignal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return set;
}

FileSizeErrors::FileSizeErrors() {
  sigset_t set = getSizeSignal();
  pthread_sigmask(SIG_BLOCK, &set, &before);
}

FileSizeErrors::~FileSizeErrors() {
  // One that came for a write of this thread waits to be taken.
  sigset_t set = getSizeSignal();
  timespec now = {};
  if (!sigismember(&before, SIGXFSZ))
    while (sigtimedwait(&set, nullptr, &now) == SIGXFSZ) {
    }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}
