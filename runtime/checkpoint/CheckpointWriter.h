// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Writes checkpoints beside the training, in a thread of its own.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CHECKPOINT_CHECKPOINTWRITER_H
#define INGOT_RUNTIME_CHECKPOINT_CHECKPOINTWRITER_H

#include "runtime/core/Error.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace ingot::runtime {

class CheckpointWriter {
public:
  /// Writes a checkpoint; throws Error.
  using Job = std::function<void()>;

  CheckpointWriter() = default;
  CheckpointWriter(const CheckpointWriter &) = delete;
  CheckpointWriter &operator=(const CheckpointWriter &) = delete;
  /// Waits for the job.
  ~CheckpointWriter() { wait(); }

  /// Runs the job in the background, several times if it fails, or now, if the
  /// system has no thread for it. No other one may be running.
  void start(int64_t step, Job job);
  bool isBusy() const { return busy; }
  /// Waits until no job runs.
  void wait();
  /// Waits at most that long; returns whether no job runs.
  bool waitFor(std::chrono::milliseconds most);

  /// Whether an attempt at the job that is running has failed.
  bool isRetrying() const { return busy && retrying; }
  /// Returns what went wrong in attempts that failed since the last call.
  std::vector<Error> takeProblems();
  /// Returns the step of the last job that succeeded, -1 at first.
  int64_t getSavedStep() const { return savedStep; }

  /// The attempts at a job, and the pause before the second, which doubles.
  static constexpr int kAttempts = 3;
  static constexpr std::chrono::milliseconds kPause{250};

private:
  void run(int64_t step, const Job &job, int attempts);

  std::thread thread;
  std::atomic<bool> busy = false, retrying = false;
  std::atomic<int64_t> savedStep = -1;
  std::mutex mutex;
  std::condition_variable ended;
  std::vector<Error> problems;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CHECKPOINT_CHECKPOINTWRITER_H
