// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Brings batches to the inputs of compiled functions.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_INPUT_FEED_H
#define INGOT_RUNTIME_TRAINER_INPUT_FEED_H

#include "runtime/data/Sampler.h"
#include "runtime/data/loading/BatchQueue.h"
#include "runtime/trainer/options/Options.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

namespace ingot::runtime {

class Console;

/// The data sets of the variants that are used; null where one has none.
using Datasets = std::vector<std::unique_ptr<Dataset>>;

class Feed {
public:
  /// Makes the batches of `planner`, whose plans name the variant's inputs as
  /// they were given in `variants`; ahead of the step if there are workers.
  /// What is read ahead is at most what `variants` need. A planner that may
  /// wait comes with `cancel`, which ends its waits. With `countsDelays` the
  /// time is measured in which threads could not run.
  Feed(BatchQueue::Planner planner,
       const std::vector<const std::vector<InputSpec> *> &variants,
       const DataOptions &options, uint64_t seed, bool isTraining,
       std::function<void()> cancel = nullptr, bool countsDelays = false);

  /// Fills the batched inputs at their offsets in `place` with the next batch.
  /// Throws badInput.
  void fill(const std::vector<InputSpec> &inputs, char *place);

  /// Waits for the next batch. Returns false if there is none.
  bool waitForNext();
  /// Whether the next batch is there, or being made.
  bool isReady();

  /// Makes batches from now on in that many threads, from one on.
  void setWorkers(int64_t workers);

  /// Says if the system has fewer threads than were wanted.
  void printNotes(Console &console) const;

  /// Returns the cost of the batches since the last call.
  QueueTimes takeTimes();

private:
  void startQueue();
  /// Makes the next batch between steps.
  void fillNow(const std::vector<InputSpec> &inputs, char *place);

  BatchQueue::Planner planner;
  QueueOptions options;
  /// The inputs of each variant, packed.
  std::vector<std::vector<InputSpec>> packed;
  std::vector<const std::vector<InputSpec> *> variants;
  int64_t number = 0;
  /// The plan of the next batch, if it was waited for without a queue.
  std::optional<BatchPlan> next;
  /// The bytes of the largest batch.
  int64_t bytes = 0;
  /// Whether threads start once batches turn out to take time, and the first
  /// batch and the time spent on all.
  bool mayStartLater = false;
  std::chrono::steady_clock::time_point firstFill;
  double spentMs = 0;
  QueueTimes times;
  Workspace workspace;
  /// Null without workers. Destroyed before what its threads use.
  std::unique_ptr<BatchQueue> queue;
};

/// Whether what batches cost is of interest: with recipes, or if workers were
/// asked for.
bool isDataOfInterest(const Options &options);

/// Plans the micro-batches that `rank` takes of the batches from `step` on, up
/// to step `end`. Each step has `accumulation` of them for each of `ranks`.
/// `inputs` are those for each of the data sets.
struct TrainingPlan {
  int64_t step, end, accumulation, rank, ranks;
};
BatchQueue::Planner
planTraining(const TrainingPlan &plan, Sampler sampler, const Datasets &data,
             const std::vector<const std::vector<InputSpec> *> &inputs);

/// Batches of a pass over samples in order: all of them, or, if `count` is made
/// smaller, that number of batches, spread evenly over the samples.
struct PassBatches {
  PassBatches() = default;
  PassBatches(int64_t samples, int64_t batch)
      : samples(samples), batch(batch), count((samples + batch - 1) / batch),
        all(count) {}

  /// The first sample of a batch, and how many it has.
  int64_t getFirst(int64_t number) const {
    return static_cast<int64_t>(static_cast<__int128>(number) * all / count) *
           batch;
  }
  int64_t getSamples(int64_t number) const {
    return std::min(batch, samples - getFirst(number));
  }

  int64_t samples = 0, batch = 1, count = 0, all = 0;
};

/// Plans the batches of a pass, of which each rank takes every `ranks`th.
BatchQueue::Planner planPass(const Dataset &data,
                             const std::vector<InputSpec> &inputs,
                             const PassBatches &batches, int64_t rank,
                             int64_t ranks);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_INPUT_FEED_H
