// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/input/StreamOrder.h"

#include "runtime/core/Random.h"

#include <algorithm>

using namespace ingot::runtime;

StreamOrder::StreamOrder(std::shared_ptr<SampleStream> given,
                         const StreamSteps &steps, int64_t taken)
    : stream(std::move(given)), steps(steps), skipped(taken) {}

bool StreamOrder::takeOne(int64_t &sample) {
  if (steps.window == 0) {
    sample = taken;
    if (!stream->wait(sample))
      return false;
    ++taken;
    return true;
  }
  // Each sample that is taken makes room for the next one that comes.
  while (static_cast<int64_t>(window.size()) < steps.window &&
         stream->wait(entered))
    window.push_back(entered++);
  if (window.empty())
    return false;
  constexpr uint64_t purpose = uint64_t(11) << 59;
  Philox random(steps.seed, purpose + static_cast<uint64_t>(taken));
  size_t drawn = random.below(window.size());
  sample = window[drawn];
  // At the end the window becomes smaller.
  std::swap(window[drawn], window.back());
  window.pop_back();
  ++taken;
  return true;
}

bool StreamOrder::takeStep(int64_t step) {
  std::vector<int64_t> samples(static_cast<size_t>(steps.samples));
  while (taken < skipped) {
    if (!takeOne(samples.front()))
      return false;
    if (window.empty())
      stream->release(taken);
  }
  for (int64_t &sample : samples)
    if (!takeOne(sample)) {
      std::lock_guard lock(mutex);
      taken -= &sample - samples.data();
      return false;
    }
  std::lock_guard lock(mutex);
  planned.emplace_back(step, std::move(samples));
  if (static_cast<int64_t>(planned.size()) > steps.kept)
    planned.pop_front();
  // All that is still needed comes after this one.
  int64_t first =
      window.empty() ? taken : *std::min_element(window.begin(), window.end());
  for (const auto &[number, known] : planned)
    first = std::min(first, *std::min_element(known.begin(), known.end()));
  stream->release(first);
  return true;
}

BatchQueue::Planner StreamOrder::plan(const Dataset &data,
                                      const std::vector<InputSpec> &inputs,
                                      int64_t step, int64_t end) {
  return [this, &data, &inputs, step,
          end](int64_t number) -> std::optional<BatchPlan> {
    int64_t own = step + number / steps.batches;
    int64_t part = number % steps.batches;
    if (own >= end || (part == 0 && !takeStep(own)))
      return std::nullopt;
    int64_t each = steps.samples / steps.batches;
    std::lock_guard lock(mutex);
    auto first = planned.back().second.begin() + part * each;
    BatchPlan made{&data, &inputs, {first, first + each}, /*epoch=*/0};
    for (int64_t sample : made.samples)
      made.tokens += data.countTokens(sample);
    return made;
  };
}

std::vector<int64_t> StreamOrder::getSamples(int64_t step) const {
  std::lock_guard lock(mutex);
  for (const auto &[number, samples] : planned)
    if (number == step)
      return samples;
  return {};
}

int64_t StreamOrder::countLeft() const {
  std::lock_guard lock(mutex);
  return stream->countArrived() - taken;
}
