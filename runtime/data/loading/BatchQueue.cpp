// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/loading/BatchQueue.h"

#include "runtime/core/machine/Threads.h"
#include "runtime/data/recipes/Mixing.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <utility>

using namespace ingot::runtime;

using Clock = std::chrono::steady_clock;

/// The rows that a worker takes at once.
static constexpr int64_t kRows = 8;
/// Batches in the queue: enough for a sample that takes long; fewer if they are
/// large.
static constexpr int64_t kFewest = 2, kMost = 8;
static constexpr int64_t kMostBytes = int64_t(64) << 20;

static double getMilliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

void ingot::runtime::fillRows(const BatchPlan &plan,
                              const std::vector<InputSpec> &inputs,
                              const QueueOptions &options, int64_t first,
                              int64_t count, char *place,
                              Workspace &workspace) {
  SampleContext context;
  context.seed = options.seed;
  context.isTraining = options.isTraining;
  context.epoch = plan.epoch;
  for (int64_t row = first; row < first + count; ++row) {
    context.sample = plan.samples[static_cast<size_t>(row)];
    plan.data->fillRow(inputs, context, row, place, workspace);
  }
  const Recipes *mixing =
      options.isTraining ? plan.data->getMixingRecipes() : nullptr;
  // Workers take an even number of rows from an even one on.
  static_assert(kRows % 2 == 0);
  for (int64_t row = first; mixing && row + 2 <= first + count; row += 2) {
    SampleContext other = context;
    context.sample = plan.samples[static_cast<size_t>(row)];
    other.sample = plan.samples[static_cast<size_t>(row + 1)];
    mixRows(inputs, *mixing, context, other, row, place, workspace);
  }
}

/// Returns the batches in a queue.
static int64_t countSlots(int64_t bytes) {
  return std::clamp(kMostBytes / std::max<int64_t>(bytes, 1), kFewest, kMost);
}

int64_t ingot::runtime::getQueueBytes(int64_t bytes) {
  return countSlots(bytes) * bytes;
}

BatchQueue::BatchQueue(Planner planner, int64_t bytes,
                       const QueueOptions &options)
    : planner(std::move(planner)), options(options), slotBytes(bytes),
      slots(static_cast<size_t>(options.batches.value_or(countSlots(bytes)))),
      count(options.mostWorkers, static_cast<int64_t>(slots.size())) {
  for (Slot &slot : slots)
    slot.memory = Block(static_cast<size_t>(bytes), "batches of data");
  setWorkers(options.workers.value_or(count.get()));
}

BatchQueue::~BatchQueue() {
  if (options.cancel)
    options.cancel();
  {
    std::lock_guard lock(mutex);
    isStopping = true;
  }
  hasWork.notify_all();
  for (Worker &worker : workers)
    if (worker.thread.joinable())
      worker.thread.join();
}

double ingot::runtime::readThreadMilliseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) +
         1e-6 * static_cast<double>(time.tv_nsec);
}

std::optional<double> ingot::runtime::readThreadDelay() {
  // "RAN WAITED TIMES", in nanoseconds.
  std::ifstream file("/proc/thread-self/schedstat");
  double ran = 0, waited = 0;
  if (!(file >> ran >> waited))
    return std::nullopt;
  return 1e-6 * waited;
}

void BatchQueue::changeWorkers(int64_t number) {
  std::lock_guard lock(mutex);
  options.workers = number;
  setWorkers(number);
}

void BatchQueue::setWorkers(int64_t number) {
  wanted = number;
  hasWork.notify_all();
  for (size_t i = 0; i < static_cast<size_t>(number); ++i) {
    if (i == workers.size())
      workers.emplace_back();
    else if (!workers[i].hasLeft)
      continue;
    else if (workers[i].thread.joinable())
      workers[i].thread.join();
    if (startWorker(i))
      continue;
    isShort = true;
    wanted = static_cast<int64_t>(i);
    return;
  }
}

bool BatchQueue::startWorker(size_t index) {
  Worker &worker = workers[index];
  worker.hasLeft = !startThread(worker.thread, [this, index] { work(index); });
  return !worker.hasLeft;
}

bool BatchQueue::planNext(std::unique_lock<std::mutex> &lock, Slot &next) {
  next.error = nullptr;
  next.firstRow = next.left = 0;
  next.decodeMs = next.processorMs = 0;
  next.delayMs.reset();
  // Batches that are made already are taken while a planner waits.
  if (options.cancel) {
    isPlanning = true;
    lock.unlock();
  }
  std::optional<BatchPlan> plan;
  std::exception_ptr error;
  try {
    plan = planner(planned);
  } catch (...) {
    plan = BatchPlan();
    error = std::current_exception();
  }
  if (options.cancel) {
    lock.lock();
    isPlanning = false;
    hasWork.notify_all();
  }
  next.plan = std::move(plan);
  next.error = error;
  if (!next.plan) {
    isAtEnd = true;
    hasBatch.notify_all();
    return false;
  }
  next.left = static_cast<int64_t>(next.plan->samples.size());
  ++planned;
  if (next.left == 0)
    hasBatch.notify_all();
  return true;
}

/// Takes rows of the first batch that has any left. Plans it, if need be.
bool BatchQueue::findWork(std::unique_lock<std::mutex> &lock, Slot *&slot,
                          int64_t &first, int64_t &count) {
  while (!isAtEnd || given < planned) {
    if (given == planned) {
      // The batch that was returned last is still being read.
      if (planned - std::max<int64_t>(taken - 1, 0) >=
              static_cast<int64_t>(slots.size()) ||
          isPlanning || !planNext(lock, getSlot(planned)))
        return false;
    }
    slot = &getSlot(given);
    auto rows = static_cast<int64_t>(slot->plan->samples.size());
    first = slot->firstRow;
    count = std::min(kRows, rows - first);
    slot->firstRow += count;
    if (slot->firstRow == rows)
      ++given;
    if (count > 0)
      return true;
  }
  return false;
}

void BatchQueue::work(size_t index) {
  Workspace workspace;
  std::unique_lock lock(mutex);
  while (!isStopping) {
    if (static_cast<int64_t>(index) >= wanted) {
      workers[index].hasLeft = true;
      // What this one was woken up for is for another.
      hasWork.notify_all();
      return;
    }
    // Planners that wait have let others ask to stop.
    if (!workOnce(lock, workspace) && !isStopping)
      hasWork.wait(lock);
  }
}

bool BatchQueue::workOnce(std::unique_lock<std::mutex> &lock,
                          Workspace &workspace) {
  Slot *slot = nullptr;
  int64_t first = 0, count = 0;
  if (!findWork(lock, slot, first, count))
    return false;
  lock.unlock();
  Clock::time_point begin = Clock::now();
  double ran = readThreadMilliseconds();
  std::optional<double> delayed;
  if (options.countsDelays)
    delayed = readThreadDelay();
  std::exception_ptr error;
  try {
    const BatchPlan &plan = *slot->plan;
    fillRows(plan, *plan.inputs, options, first, count, slot->memory.getData(),
             workspace);
  } catch (...) {
    error = std::current_exception();
  }
  double spent = getMilliseconds(Clock::now() - begin);
  ran = readThreadMilliseconds() - ran;
  if (delayed)
    delayed = readThreadDelay().value_or(*delayed) - *delayed;
  lock.lock();
  slot->decodeMs += spent;
  slot->processorMs += ran;
  if (delayed)
    slot->delayMs = slot->delayMs.value_or(0) + *delayed;
  if (error && !slot->error)
    slot->error = error;
  slot->left -= count;
  if (slot->left == 0) {
    hasBatch.notify_all();
    // Another worker may have given up for want of a plan.
    hasWork.notify_all();
  }
  return true;
}

bool BatchQueue::isReady() {
  std::lock_guard lock(mutex);
  return isReady(taken);
}

bool BatchQueue::waitForNext() {
  asked = Clock::now();
  std::unique_lock lock(mutex);
  hasWork.notify_all();
  if (wanted == 0)
    for (Workspace workspace; !isReady(taken) && workOnce(lock, workspace);)
      continue;
  hasBatch.wait(
      lock, [&] { return isReady(taken) || (isAtEnd && taken >= planned); });
  return taken < planned;
}

const char *BatchQueue::next() {
  Clock::time_point begin =
      std::exchange(asked, std::nullopt).value_or(Clock::now());
  std::unique_lock lock(mutex);
  int64_t batch = taken++;
  // The memory of the last batch is free now. Workers that sleep are woken up
  // when half of the queue is: to wake one up for each of a step's batches that
  // are mere copies would take longer than to copy them.
  auto size = static_cast<int64_t>(slots.size());
  int64_t queued = std::max<int64_t>(planned - batch, 0);
  if (size - queued >= size / 2)
    hasWork.notify_all();
  times.depth = 0;
  while (times.depth < static_cast<int64_t>(slots.size()) &&
         isReady(batch + times.depth))
    ++times.depth;
  if (wanted == 0)
    for (Workspace workspace; !isReady(batch) && workOnce(lock, workspace);)
      continue;
  hasBatch.wait(
      lock, [&] { return isReady(batch) || (isAtEnd && batch >= planned); });
  if (batch >= planned)
    return nullptr;
  Slot &slot = getSlot(batch);
  times.decodeMs = slot.decodeMs;
  times.processorMs = slot.processorMs;
  times.delayMs = slot.delayMs;
  times.workers = countWorkers();
  Clock::time_point end = Clock::now();
  times.waitMs = getMilliseconds(end - begin);
  if (slot.error)
    std::rethrow_exception(slot.error);
  // The first batch is waited for by any number of workers.
  if (!options.workers && batch > 0) {
    count.add(getMilliseconds(end - returned), times.waitMs);
    if (count.get() != wanted)
      setWorkers(count.get());
  }
  returned = end;
  return slot.memory.getData();
}
