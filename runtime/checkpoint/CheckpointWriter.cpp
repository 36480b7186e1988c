// SPDX-License-Identifier: Apache-2.0

#include "runtime/checkpoint/CheckpointWriter.h"

#include "runtime/core/machine/Threads.h"

#include <exception>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

using namespace ingot::runtime;

void CheckpointWriter::run(int64_t step, const Job &job, int attempts) {
  auto pause = kPause;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    std::optional<Error> problem;
    try {
      job();
      savedStep = step;
    } catch (const Error &error) {
      problem = error;
    } catch (const std::exception &error) {
      problem = failure("the checkpoint", error.what(),
                        "free memory or space on the disk");
    }
    if (!problem)
      break;
    std::unique_lock lock(mutex);
    problems.push_back(*problem);
    retrying = true;
    if (attempt + 1 < attempts)
      ended.wait_for(lock, std::exchange(pause, 2 * pause));
  }
  std::lock_guard lock(mutex);
  busy = false;
  ended.notify_all();
}

void CheckpointWriter::start(int64_t step, Job job) {
  wait();
  busy = true;
  retrying = false;
  bool isStarted = startThread(thread, [this, step, job] {
    // Training comes first where both want a processor. Linux has priorities
    // for each thread.
    constexpr int politeness = 10;
    (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), politeness);
    run(step, job, kAttempts);
  });
  // Without a thread it is written now; training does not wait to try again.
  if (!isStarted)
    run(step, job, /*attempts=*/1);
}

void CheckpointWriter::wait() {
  if (thread.joinable())
    thread.join();
}

bool CheckpointWriter::waitFor(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex);
  return ended.wait_for(lock, most, [&] { return !busy; });
}

std::vector<Error> CheckpointWriter::takeProblems() {
  std::lock_guard lock(mutex);
  return std::exchange(problems, {});
}
