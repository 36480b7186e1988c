// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/input/Feed.h"

#include "runtime/core/console/Console.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <numeric>
#include <thread>
#include <utility>

using namespace ingot::runtime;

/// Lays out the batched inputs one after another.
static std::vector<InputSpec> pack(const std::vector<InputSpec> &inputs,
                                   int64_t &bytes) {
  std::vector<InputSpec> packed;
  int64_t end = 0;
  for (const InputSpec &input : inputs) {
    if (!input.isBatched())
      continue;
    packed.push_back(input);
    packed.back().offset = end;
    end += input.getAlignedBytes();
  }
  bytes = std::max(bytes, end);
  return packed;
}

Feed::Feed(BatchQueue::Planner planner,
           const std::vector<const std::vector<InputSpec> *> &variants,
           const DataOptions &options, uint64_t seed, bool isTraining,
           std::function<void()> cancel, bool countsDelays)
    : planner(std::move(planner)), variants(variants) {
  this->options.seed = seed;
  this->options.cancel = std::move(cancel);
  this->options.isTraining = isTraining;
  this->options.workers = options.workers;
  this->options.batches = options.prefetch;
  this->options.countsDelays = countsDelays;
  constexpr int64_t most = 16;
  this->options.mostWorkers = std::clamp<int64_t>(
      static_cast<int64_t>(std::thread::hardware_concurrency()), 1, most);
  for (const std::vector<InputSpec> *inputs : variants)
    packed.push_back(pack(*inputs, bytes));
  // Threads of their own would only get in the way of the step's where batches
  // are copies.
  // A stream is read ahead of them, while who writes it works, too.
  mayStartLater =
      !options.workers && options.recipes.empty() && !this->options.cancel;
  if (options.workers != 0 && !mayStartLater)
    startQueue();
}

bool ingot::runtime::isDataOfInterest(const Options &options) {
  return options.line.isGiven("--workers") || !options.data.recipes.empty() ||
         options.report.diagnose;
}

void Feed::startQueue() {
  mayStartLater = false;
  auto planPacked = [this, first = number](int64_t batch) {
    std::optional<BatchPlan> plan = this->planner(first + batch);
    if (!plan)
      return plan;
    auto variant =
        std::find(this->variants.begin(), this->variants.end(), plan->inputs) -
        this->variants.begin();
    plan->inputs = &packed[static_cast<size_t>(variant)];
    return plan;
  };
  queue = std::make_unique<BatchQueue>(planPacked, bytes, options);
}

void Feed::fillNow(const std::vector<InputSpec> &inputs, char *place) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
  double ran = readThreadMilliseconds();
  std::optional<double> delayed;
  if (options.countsDelays)
    delayed = readThreadDelay();
  std::optional<BatchPlan> plan = std::exchange(next, std::nullopt);
  if (!plan)
    plan = planner(number);
  ++number;
  auto rows = static_cast<int64_t>(plan->samples.size());
  fillRows(*plan, inputs, options, 0, rows, place, workspace);
  Dataset::repeatLast(inputs, rows, place);
  times.tokens += plan->tokens;
  Clock::time_point end = Clock::now();
  auto count = [](Clock::duration duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
  };
  double took = count(end - begin);
  times.waitMs += took;
  times.decodeMs += took;
  times.processorMs += readThreadMilliseconds() - ran;
  if (delayed)
    times.delayMs = times.delayMs.value_or(0) +
                    readThreadDelay().value_or(*delayed) - *delayed;
  if (!mayStartLater)
    return;
  if (number == 1)
    firstFill = begin;
  spentMs += took;
  // A slow disk, or text that is parsed.
  constexpr double leastMs = 200, mostShare = 0.01;
  double passed = count(end - firstFill);
  if (passed >= leastMs && spentMs > mostShare * passed)
    startQueue();
}

void Feed::fill(const std::vector<InputSpec> &inputs, char *place) {
  if (!queue) {
    fillNow(inputs, place);
    return;
  }
  const char *batch = queue->next();
  const BatchPlan &plan = queue->getPlan();
  auto rows = static_cast<int64_t>(plan.samples.size());
  for (const InputSpec &from : *plan.inputs)
    for (const InputSpec &to : inputs)
      if (to.name == from.name)
        std::memcpy(place + to.offset, batch + from.offset,
                    static_cast<size_t>(to.getBytes() / to.shape[0] * rows));
  Dataset::repeatLast(inputs, rows, place);
  const QueueTimes &spent = queue->getTimes();
  times.waitMs += spent.waitMs;
  times.decodeMs += spent.decodeMs;
  times.depth = spent.depth;
  times.processorMs += spent.processorMs;
  if (spent.delayMs)
    times.delayMs = times.delayMs.value_or(0) + *spent.delayMs;
  times.workers = spent.workers;
  times.tokens += plan.tokens;
}

bool Feed::waitForNext() {
  if (queue)
    return queue->waitForNext();
  if (!next)
    next = planner(number);
  return next.has_value();
}

bool Feed::isReady() { return queue ? queue->isReady() : next.has_value(); }

void Feed::setWorkers(int64_t workers) {
  options.workers = workers;
  if (queue)
    queue->changeWorkers(workers);
  else
    startQueue();
}

void Feed::printNotes(Console &console) const {
  if (!queue || !queue->lacksThreads())
    return;
  int64_t workers = queue->countWorkers();
  console.noteOnce(fmt::format(
      "the system has no more threads for this process: {} (ulimit -u and "
      "pids.max are the limits)",
      workers == 0 ? "batches are made between steps"
                   : fmt::format("batches have {} workers", workers)));
}

QueueTimes Feed::takeTimes() { return std::exchange(times, {}); }

BatchQueue::Planner ingot::runtime::planTraining(
    const TrainingPlan &plan, Sampler sampler, const Datasets &data,
    const std::vector<const std::vector<InputSpec> *> &inputs) {
  return [plan, sampler = std::move(sampler), &data,
          inputs](int64_t number) mutable -> std::optional<BatchPlan> {
    int64_t step = plan.step + number / plan.accumulation;
    if (step >= plan.end)
      return std::nullopt;
    Sampler::Batch batch = sampler.getBatch(step);
    auto all = static_cast<int64_t>(batch.samples.size());
    int64_t each = all / (plan.accumulation * plan.ranks);
    auto ofRanks =
        batch.samples.begin() + number % plan.accumulation * plan.ranks * each;
    auto own = ofRanks + plan.rank * each;
    const Dataset &dataset = *data[batch.group];
    BatchPlan made{
        &dataset, inputs[batch.group], {own, own + each}, batch.epoch};
    for (int64_t i = 0; i < plan.ranks * each; ++i)
      made.tokens += dataset.countTokens(ofRanks[i]);
    return made;
  };
}

BatchQueue::Planner ingot::runtime::planPass(
    const Dataset &data, const std::vector<InputSpec> &inputs,
    const PassBatches &batches, int64_t rank, int64_t ranks) {
  return [=, &data, &inputs](int64_t turn) -> std::optional<BatchPlan> {
    int64_t number = turn * ranks + rank;
    if (number >= batches.count)
      return std::nullopt;
    BatchPlan plan{&data, &inputs, {}, 0};
    plan.samples.resize(static_cast<size_t>(batches.getSamples(number)));
    std::iota(plan.samples.begin(), plan.samples.end(),
              batches.getFirst(number));
    return plan;
  };
}
