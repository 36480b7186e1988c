// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/libraries/Tuner.h"

#include "runtime/cuda/driver/Switches.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

using namespace ingot::runtime;

/// The end of a choice that no time was left to measure.
static constexpr std::string_view kNotMeasured = " (not measured)";

Tuner::Tuner(const Driver &driver, CUstream stream, std::string gpu,
             const Device::Tuning &tuning)
    : driver(driver), stream(stream), kept(std::move(gpu), tuning.path),
      rank(tuning.rank), goesOn(tuning.goesOn), most(tuning.seconds) {
  driver.check(driver.cuEventCreate(&begin, CU_EVENT_DEFAULT),
               "making an event");
  driver.check(driver.cuEventCreate(&end, CU_EVENT_DEFAULT), "making an event");
}

Tuner::~Tuner() {
  for (CUevent event : {begin, end})
    if (event)
      (void)driver.cuEventDestroy(event);
}

std::string Tuner::nameKey(const std::string &key) const {
  return rank == 0 ? key : "rank " + std::to_string(rank) + ": " + key;
}

std::optional<std::string> Tuner::find(const std::string &key) const {
  std::optional<std::string> choice = kept.find(nameKey(key));
  if (!choice)
    choice = kept.find(key);
  size_t length = kNotMeasured.size();
  if (!choice || choice->size() < length ||
      choice->compare(choice->size() - length, length, kNotMeasured) != 0)
    return choice;
  if (goesOn)
    return std::nullopt;
  return choice->substr(0, choice->size() - length);
}

void Tuner::keep(const std::string &key, const std::string &choice,
                 bool isMeasured) {
  if (isMeasured)
    kept.keep(nameKey(key), choice);
  else if (most.count() > 0)
    kept.keep(nameKey(key), choice + std::string(kNotMeasured));
}

std::optional<float> Tuner::time(const std::function<bool()> &put) {
  // The first run loads code. The fastest of the others counts, because
  // interference only makes a run slower.
  constexpr int runs = 5;
  if (!put())
    return std::nullopt;
  std::optional<float> best;
  for (int i = 0; i < runs; ++i) {
    driver.check(driver.cuEventRecord(begin, stream), "recording an event");
    if (!put())
      return std::nullopt;
    driver.check(driver.cuEventRecord(end, stream), "recording an event");
    driver.check(driver.cuEventSynchronize(end), "timing on the GPU");
    float milliseconds = 0;
    driver.check(driver.cuEventElapsedTime(&milliseconds, begin, end),
                 "timing on the GPU");
    best = best ? std::min(*best, milliseconds) : milliseconds;
  }
  return best;
}

/// Adds a line to the file that tools/gpu-check reads: what was measured, and
/// the milliseconds.
static void writeTime(const std::string &key, size_t number,
                      const std::string &name, float milliseconds) {
  const std::string &path = getSwitches().tuneTimes;
  std::FILE *file = path.empty() ? nullptr : std::fopen(path.c_str(), "a");
  if (!file)
    return;
  std::fprintf(file, "%s;%zu;%s;%.6f\n", key.c_str(), number, name.c_str(),
               milliseconds);
  std::fclose(file);
}

Tuner::Search::Search(Tuner &tuner, std::string key)
    : tuner(tuner), key(std::move(key)),
      begin(std::chrono::steady_clock::now()) {}

Tuner::Search::~Search() {
  tuner.spent += std::chrono::steady_clock::now() - begin;
  ++(isMeasured ? tuner.measured : tuner.leftOut);
}

bool Tuner::Search::hasTime() const {
  return tuner.spent + (std::chrono::steady_clock::now() - begin) < tuner.most;
}

std::optional<size_t>
Tuner::Search::findFastest(size_t count, const std::function<bool(size_t)> &put,
                           const std::function<std::string(size_t)> &name) {
  std::optional<size_t> fastest;
  float least = 0;
  for (size_t i = 0; i < count; ++i) {
    // Some of the candidates would be no choice among all of them.
    if (!hasTime())
      return std::nullopt;
    std::optional<float> found = tuner.time([&] { return put(i); });
    if (!found)
      continue;
    writeTime(key, i, name(i), *found);
    if (!fastest || *found < least) {
      fastest = i;
      least = *found;
    }
  }
  isMeasured = true;
  return fastest;
}

std::string Tuner::takeReport() {
  std::string text;
  if (measured != 0) {
    char line[128];
    std::snprintf(line, sizeof(line),
                  "tune: took the fastest algorithms of %lld library calls, as "
                  "measured in %.1f s",
                  static_cast<long long>(measured), spent.count());
    text = line;
  }
  // Where no time was given, nothing was asked for.
  if (leftOut != 0 && most.count() > 0)
    text += (text.empty() ? "tune: " : "; ") + std::to_string(leftOut) +
            " calls have the library's first choice, because the time was over "
            "(--tune-seconds); so they have in later runs, unless --tune is "
            "given";
  measured = leftOut = 0;
  return text;
}
