// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How many threads make batches, if nobody says so.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_LOADING_WORKERCOUNT_H
#define INGOT_RUNTIME_DATA_LOADING_WORKERCOUNT_H

#include <cstdint>
#include <vector>

namespace ingot::runtime {

/// Finds the number of workers by trying: one more where steps wait, one fewer
/// where they have not waited for long. What has been tried stays only if steps
/// come sooner with the one more, or no later with the one fewer; each failure
/// doubles the time until the next trial.
class WorkerCount {
public:
  /// Starts with one worker; `settling` batches after a change are not judged.
  WorkerCount(int64_t most, int64_t settling)
      : most(most), settling(settling) {}

  int64_t get() const { return count; }

  /// Adds a batch: the time since the last one in milliseconds, and how much of
  /// it the step waited.
  void add(double periodMs, double waitMs);

private:
  void judge(double period, double waited);
  void tryOther(int64_t change, double period);

  int64_t most, settling;
  int64_t count = 1;
  /// The change of the number that is on trial, and the time between batches
  /// before.
  int64_t trial = 0;
  double before = 0;
  /// The batches that are not judged, the windows until the next trial, and as
  /// many after the next failure.
  int64_t skipped = 0, resting = 0, patience = 1;
  /// The windows in a row in which no step waited.
  int64_t idle = 0;
  /// The times between the batches of a window.
  std::vector<double> periods;
  double totalMs = 0, waitedMs = 0;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_LOADING_WORKERCOUNT_H
