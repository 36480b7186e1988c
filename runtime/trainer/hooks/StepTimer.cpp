// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/hooks/StepTimer.h"

#include "runtime/core/files/Crc32.h"
#include "runtime/core/libraries/JsonLibrary.h"
#include "runtime/core/text/BoundedJson.h"
#include "runtime/observe/MetricsLog.h"

#include <algorithm>
#include <cmath>

using namespace ingot::runtime;
using Clock = std::chrono::steady_clock;

/// The first steps fill caches and start threads.
static constexpr int64_t kWarmup = 3;
/// Fewer steps say little, unless they take long.
static constexpr int64_t kFewest = 5;
/// The losses that are compared, which all runs compute.
static constexpr size_t kLosses = kWarmup;

void StepTimer::addResults(const StepResults &results) {
  float loss = results.metrics.loss;
  if (losses.size() < kLosses * sizeof(loss))
    losses.append(reinterpret_cast<const char *>(&loss), sizeof(loss));
  waits.push_back(results.waitedMs);
}

void StepTimer::endStep(int64_t, double) {
  Clock::time_point now = Clock::now();
  if (++steps > kWarmup)
    times.push_back(
        std::chrono::duration<double, std::milli>(now - last).count());
  else
    begin = now;
  last = now;
}

bool StepTimer::isDone() const {
  if (steps >= kMost)
    return true;
  double passed = std::chrono::duration<double>(last - begin).count();
  auto measured = static_cast<int64_t>(times.size());
  return (measured >= kFewest && passed >= seconds) ||
         (measured > 0 && passed >= 2 * seconds);
}

static double getMedian(std::vector<double> values) {
  if (values.empty())
    return 0;
  auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

StepTimes StepTimer::get() const {
  StepTimes result;
  result.steps = static_cast<int64_t>(times.size());
  result.stepMs = getMedian(times);
  auto skipped = std::min<int64_t>(kWarmup, static_cast<int64_t>(waits.size()));
  result.dataMs = getMedian({waits.begin() + skipped, waits.end()});
  result.losses = computeCrc32(losses);
  return result;
}

void StepTimer::report(const Print &print) { print(formatStepTimes(get())); }

std::string ingot::runtime::formatStepTimes(const StepTimes &times) {
  return nlohmann::ordered_json{{"steps", times.steps},
                                {"step_ms", times.stepMs},
                                {"data_ms", times.dataMs},
                                {"losses", times.losses}}
             .dump() +
         "\n";
}

std::optional<StepTimes>
ingot::runtime::parseStepTimes(const std::string &text) {
  auto json = parseJson(text);
  if (!json.is_object() || !json.contains("step_ms"))
    return std::nullopt;
  StepTimes times;
  times.steps = json.value("steps", int64_t(0));
  times.stepMs = json.value("step_ms", 0.0);
  times.dataMs = json.value("data_ms", 0.0);
  times.losses = json.value("losses", uint32_t(0));
  if (times.steps <= 0 || !(times.stepMs > 0))
    return std::nullopt;
  return times;
}
