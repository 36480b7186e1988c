// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Batches that threads make ahead of the step.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_LOADING_BATCHQUEUE_H
#define INGOT_RUNTIME_DATA_LOADING_BATCHQUEUE_H

#include "runtime/core/Memory.h"
#include "runtime/data/dataset/Dataset.h"
#include "runtime/data/loading/WorkerCount.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace ingot::runtime {

/// The source of a batch: its data and the inputs that it fills.
struct BatchPlan {
  const Dataset *data = nullptr;
  /// The inputs, with offsets in the memory of the batch.
  const std::vector<InputSpec> *inputs = nullptr;
  std::vector<int64_t> samples;
  int64_t epoch = 0;
  /// The tokens of the batches of all ranks, and how many there is room for.
  TokenCount tokens = {};
};

struct QueueOptions {
  uint64_t seed = 0;
  bool isTraining = false;
  /// The threads; none means as many as make the steps come sooner.
  std::optional<int64_t> workers = std::nullopt;
  /// The most threads that are added for that.
  int64_t mostWorkers = 1;
  /// The batches of the queue; none means as many as fit some memory.
  std::optional<int64_t> batches = std::nullopt;
  /// Whether QueueTimes::delayMs is asked for, which takes some time itself.
  bool countsDelays = false;
  /// Ends the waits of a planner that waits for what its batches are made of;
  /// null for others.
  std::function<void()> cancel = nullptr;
};

/// Makes `count` rows of a batch from row `first` on, at the offsets of
/// `inputs` in `place`. Throws badInput.
void fillRows(const BatchPlan &plan, const std::vector<InputSpec> &inputs,
              const QueueOptions &options, int64_t first, int64_t count,
              char *place, Workspace &workspace);

/// The cost of a batch.
struct QueueTimes {
  /// The time that next() waited, and that workers spent on the batch.
  double waitMs = 0, decodeMs = 0;
  /// The batches that were ready when it was asked for.
  int64_t depth = 0;
  TokenCount tokens;
  /// The part of decodeMs in which workers had a processor, and their number.
  double processorMs = 0;
  int64_t workers = 0;
  /// The part of decodeMs in which they waited for one, if that is asked for
  /// and the system counts it.
  std::optional<double> delayMs;
};

/// Returns the bytes of memory that a queue of batches of `bytes` bytes has.
int64_t getQueueBytes(int64_t bytes);

/// The time that the calling thread has had a processor, in milliseconds.
double readThreadMilliseconds();

/// The time that the calling thread has been ready to run without a processor,
/// in milliseconds; nothing where the system does not count it.
std::optional<double> readThreadDelay();

/// A bounded queue of batches, in order. Workers take parts of the next batch
/// that is not complete, so that the first one comes as soon as it can. What is
/// in a batch depends on its plan, the seed and nothing else.
class BatchQueue {
public:
  /// Returns the plan of a batch, counted from `first`; none after the last. It
  /// is called in order, by one thread at a time.
  using Planner = std::function<std::optional<BatchPlan>(int64_t batch)>;

  /// Makes batches of at most `bytes` bytes.
  BatchQueue(Planner planner, int64_t bytes, const QueueOptions &options);
  BatchQueue(const BatchQueue &) = delete;
  BatchQueue &operator=(const BatchQueue &) = delete;
  /// Stops the threads, whatever is left to do.
  ~BatchQueue();

  /// Waits for the next batch and returns its memory, which is valid until the
  /// next call. Throws what its making threw.
  const char *next();
  /// Waits until next() has a batch. Returns false after the last one.
  bool waitForNext();
  /// Whether next() has it now.
  bool isReady();
  /// The plan of that batch, valid as long as its memory.
  const BatchPlan &getPlan() const {
    return *slots[static_cast<size_t>(taken - 1) % slots.size()].plan;
  }
  /// Returns the cost of the last batch.
  const QueueTimes &getTimes() const { return times; }
  int64_t countWorkers() const { return wanted; }
  /// Whether the system had fewer threads than were wanted. Without any, next()
  /// makes the batches.
  bool lacksThreads() const { return isShort; }
  /// Goes on with that many threads, from one on.
  void changeWorkers(int64_t number);
  /// The bytes of memory for batches.
  int64_t getBytes() const {
    return static_cast<int64_t>(slots.size()) * slotBytes;
  }

private:
  struct Slot {
    Block memory;
    std::optional<BatchPlan> plan;
    std::exception_ptr error;
    /// The first row that no worker has, and the rows that are not complete.
    int64_t firstRow = 0, left = 0;
    double decodeMs = 0, processorMs = 0;
    std::optional<double> delayMs;
  };
  struct Worker {
    std::thread thread;
    /// Whether the thread has ended, or is about to.
    bool hasLeft = false;
  };
  void work(size_t index);
  /// Makes a part of a batch; returns false if there is none to make.
  bool workOnce(std::unique_lock<std::mutex> &lock, Workspace &workspace);
  /// Starts the workers that are missing; those that are too many leave.
  void setWorkers(int64_t count);
  bool startWorker(size_t index);
  bool findWork(std::unique_lock<std::mutex> &lock, Slot *&slot, int64_t &first,
                int64_t &count);
  /// Plans a batch. Returns false after the last one.
  bool planNext(std::unique_lock<std::mutex> &lock, Slot &next);
  bool isReady(int64_t batch) const {
    return batch < planned &&
           slots[static_cast<size_t>(batch) % slots.size()].left == 0;
  }
  Slot &getSlot(int64_t batch) {
    return slots[static_cast<size_t>(batch) % slots.size()];
  }

  Planner planner;
  QueueOptions options;
  int64_t slotBytes;
  std::vector<Slot> slots;
  /// The batches that were planned, that all rows have been given away of, and
  /// that next() returned.
  int64_t planned = 0, given = 0, taken = 0;
  bool isStopping = false, isAtEnd = false, isShort = false;
  /// Whether a planner that may wait is at work, without the lock.
  bool isPlanning = false;
  std::mutex mutex;
  std::condition_variable hasWork, hasBatch;
  /// The workers that there should be. Others have left, or will.
  int64_t wanted = 0;
  std::deque<Worker> workers;
  QueueTimes times;
  WorkerCount count;
  /// When next() returned last.
  std::chrono::steady_clock::time_point returned;
  /// When waitForNext() began to wait, if it did.
  std::optional<std::chrono::steady_clock::time_point> asked;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_LOADING_BATCHQUEUE_H
