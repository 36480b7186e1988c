// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/LaunchTuner.h"

#include <algorithm>
#include <limits>

using namespace ingot::runtime;

/// How often each candidate is measured; its least time counts.
static constexpr size_t kRounds = 3;

/// FNV-1a, which has the same value on every machine.
static uint64_t hash(const char *text) {
  uint64_t value = 14695981039346656037u;
  for (; *text; ++text)
    value = (value ^ static_cast<unsigned char>(*text)) * 1099511628211u;
  return value;
}

LaunchTuner::LaunchTuner(Tuner &tuner, const Driver &driver, CUstream stream,
                         CUdevice gpu, const char *code, bool measures)
    : tuner(tuner), driver(driver), stream(stream), codeHash(hash(code)),
      measures(measures) {
  driver.check(
      driver.cuDeviceGetAttribute(
          &multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, gpu),
      "asking what the GPU is");
}

LaunchTuner::~LaunchTuner() {
  for (const Trial &trial : trials)
    timers.insert(timers.end(), {trial.begin, trial.end});
  for (CUevent timer : timers)
    (void)driver.cuEventDestroy(timer);
}

LaunchTuner::Choice
LaunchTuner::makeChoice(const ingot_grid_kernel &kernel) const {
  Choice choice;
  choice.key = "blocks of " + std::string(kernel.name) + " in " +
               std::to_string(codeHash);
  // The candidates are one element or vector per thread, and a few blocks per
  // multiprocessor.
  choice.candidates.push_back(kernel.grid);
  for (int32_t waves : {32, 16, 8, 4, 2})
    if (int32_t blocks = waves * multiprocessors;
        blocks > 0 && blocks < kernel.grid)
      choice.candidates.push_back(blocks);
  choice.milliseconds.assign(choice.candidates.size(),
                             std::numeric_limits<float>::infinity());
  if (choice.candidates.size() == 1)
    choice.fastest = 0;
  else if (std::optional<std::string> kept = tuner.find(choice.key))
    for (size_t i = 0; i < choice.candidates.size(); ++i)
      if (*kept == std::to_string(choice.candidates[i]))
        choice.fastest = i;
  if (!choice.fastest && !measures)
    choice.fastest = 0;
  return choice;
}

void LaunchTuner::launch(const ingot_grid_kernel &kernel,
                         const std::function<void(int32_t)> &put) {
  auto found = choices.find(&kernel);
  if (found == choices.end())
    found = choices.emplace(&kernel, makeChoice(kernel)).first;
  Choice &choice = found->second;
  if (choice.fastest)
    return put(choice.candidates[*choice.fastest]);
  Trial trial = {&choice, choice.tries++ % choice.candidates.size(),
                 takeTimer(), nullptr};
  put(choice.candidates[trial.candidate]);
  trial.end = takeTimer();
  trials.push_back(trial);
}

/// Records an event at this point of the stream.
CUevent LaunchTuner::takeTimer() {
  CUevent event = nullptr;
  if (timers.empty()) {
    driver.check(driver.cuEventCreate(&event, CU_EVENT_DEFAULT),
                 "making an event");
  } else {
    event = timers.back();
    timers.pop_back();
  }
  driver.check(driver.cuEventRecord(event, stream), "recording an event");
  return event;
}

bool LaunchTuner::finishRun() {
  for (const Trial &trial : trials) {
    float milliseconds = 0;
    driver.check(
        driver.cuEventElapsedTime(&milliseconds, trial.begin, trial.end),
        "reading an event");
    float &least = trial.choice->milliseconds[trial.candidate];
    least = std::min(least, milliseconds);
    timers.insert(timers.end(), {trial.begin, trial.end});
  }
  for (const Trial &trial : trials)
    decide(*trial.choice);
  bool isLast =
      std::all_of(trials.begin(), trials.end(), [](const Trial &trial) {
        return trial.choice->fastest.has_value();
      });
  trials.clear();
  return isLast;
}

void LaunchTuner::decide(Choice &choice) {
  if (choice.fastest || choice.tries < kRounds * choice.candidates.size())
    return;
  auto least =
      std::min_element(choice.milliseconds.begin(), choice.milliseconds.end());
  choice.fastest = least - choice.milliseconds.begin();
  tuner.keep(choice.key, std::to_string(choice.candidates[*choice.fastest]));
}
