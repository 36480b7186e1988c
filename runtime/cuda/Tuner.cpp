// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/Tuner.h"

#include <algorithm>
#include <utility>

using namespace ingot::runtime;

Tuner::Tuner(const Driver &driver, CUstream stream, std::string gpu,
             std::string path)
    : driver(driver), stream(stream), kept(std::move(gpu), std::move(path)) {
  driver.check(driver.cuEventCreate(&begin, CU_EVENT_DEFAULT),
               "making an event");
  driver.check(driver.cuEventCreate(&end, CU_EVENT_DEFAULT), "making an event");
}

Tuner::~Tuner() {
  for (CUevent event : {begin, end})
    if (event)
      (void)driver.cuEventDestroy(event);
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

std::optional<size_t>
Tuner::findFastest(size_t count, const std::function<bool(size_t)> &put) {
  std::optional<size_t> fastest;
  float least = 0;
  for (size_t i = 0; i < count; ++i)
    if (std::optional<float> found = time([&] { return put(i); });
        found && (!fastest || *found < least)) {
      fastest = i;
      least = *found;
    }
  return fastest;
}
