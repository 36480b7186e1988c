// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The order in which steps take the samples of a stream: as they come, or each
// at random of a window of those that have come.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_INPUT_STREAMORDER_H
#define INGOT_RUNTIME_TRAINER_INPUT_STREAMORDER_H

#include "runtime/data/streams/SampleStream.h"
#include "runtime/trainer/input/Feed.h"

#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace ingot::runtime {

struct StreamSteps {
  /// The samples of a step, and of how many batches it consists.
  int64_t samples = 1, batches = 1;
  /// The samples of the window; 0 takes them as they come.
  int64_t window = 0;
  uint64_t seed = 0;
  /// The steps whose samples are kept after they were planned.
  int64_t kept = 1;
};

class StreamOrder {
public:
  /// The first step takes the samples behind the first `taken` ones.
  StreamOrder(std::shared_ptr<SampleStream> stream, const StreamSteps &steps,
              int64_t taken);

  /// Plans the batches of the steps from `step` to `end`, until the stream
  /// ends. Waits for the samples of each step.
  BatchQueue::Planner plan(const Dataset &data,
                           const std::vector<InputSpec> &inputs, int64_t step,
                           int64_t end);
  /// Ends a planner that waits, now and in future.
  void cancel() { stream->cancel(); }

  /// Returns the samples of a step that was planned not long ago; empty for
  /// others.
  std::vector<int64_t> getSamples(int64_t step) const;
  /// How many samples have come that no step has taken.
  int64_t countLeft() const;

private:
  /// Takes the next sample. Returns false at the end of the stream.
  bool takeOne(int64_t &sample);
  bool takeStep(int64_t step);

  std::shared_ptr<SampleStream> stream;
  StreamSteps steps;
  int64_t skipped;
  /// The samples that were taken, and those that were put into the window.
  int64_t taken = 0, entered = 0;
  std::vector<int64_t> window;
  mutable std::mutex mutex;
  std::deque<std::pair<int64_t, std::vector<int64_t>>> planned;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_INPUT_STREAMORDER_H
