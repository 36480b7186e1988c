// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/machine/Threads.h"

#include "runtime/core/Error.h"
#include "runtime/core/machine/OpenMpSettings.h"
#include "runtime/core/machine/Processors.h"

#include <csignal>
#include <pthread.h>
#include <system_error>
#include <utility>

using namespace ingot::runtime;

bool ingot::runtime::startThread(std::thread &thread,
                                 std::function<void()> body) {
  sigset_t others, before;
  sigfillset(&others);
  // This one comes from reading a file that is truncated (LostFiles.h).
  sigdelset(&others, SIGBUS);
  pthread_sigmask(SIG_SETMASK, &others, &before);
  bool isStarted = true;
  try {
    // What starts it may be bound to a place of its own.
    thread = std::thread([body = std::move(body)] {
      if (!OpenMpSettings::get().places.empty())
        bindThread(getAllowedProcessors());
      body();
    });
  } catch (const std::system_error &) {
    isStarted = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return isStarted;
}

Error ingot::runtime::lackOfThreads() {
  return failure("threads", "the system has no more threads for this process",
                 "raise the limit of processes (ulimit -u, pids.max of the "
                 "control group), or end others");
}
