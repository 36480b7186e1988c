// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/loading/WorkerCount.h"

#include <algorithm>

using namespace ingot::runtime;

/// The batches of a window, at least and at most, and the least time that it
/// takes unless it has the most.
static constexpr size_t kFewest = 8, kMost = 512;
static constexpr double kLeastMs = 20;
/// The part of the time that has to be waited for another worker to be worth a
/// trial, and that has to be gained by it.
static constexpr double kWaits = 0.02, kGain = 0.03;
/// The windows without waiting after which one worker fewer is tried, and the
/// most windows between trials.
static constexpr int64_t kIdle = 16, kMostPatience = 256;

void WorkerCount::add(double periodMs, double waitMs) {
  if (skipped > 0) {
    --skipped;
    return;
  }
  periods.push_back(periodMs);
  totalMs += periodMs;
  waitedMs += waitMs;
  bool isFull = periods.size() >= kFewest && totalMs >= kLeastMs;
  if (!isFull && periods.size() < kMost)
    return;
  // Not the mean: a batch that another process held up says nothing.
  auto middle = periods.begin() + static_cast<int64_t>(periods.size() / 2);
  std::nth_element(periods.begin(), middle, periods.end());
  double period = *middle;
  double waited = waitedMs / totalMs;
  periods.clear();
  totalMs = waitedMs = 0;
  judge(period, waited);
}

void WorkerCount::tryOther(int64_t change, double period) {
  count += change;
  trial = change;
  before = period;
  skipped = settling;
  idle = 0;
}

void WorkerCount::judge(double period, double waited) {
  if (trial != 0) {
    bool isGood = trial > 0 ? period < (1 - kGain) * before
                            : period <= (1 + kGain) * before;
    if (!isGood) {
      count -= trial;
      skipped = settling;
      resting = patience;
      patience = std::min(2 * patience, kMostPatience);
    } else if (trial > 0) {
      patience = 1;
    }
    trial = 0;
    if (!isGood)
      return;
  }
  idle = waited > kWaits ? 0 : idle + 1;
  if (resting > 0) {
    --resting;
    return;
  }
  if (waited > kWaits && count < most)
    tryOther(1, period);
  else if (idle >= kIdle && count > 1)
    tryOther(-1, period);
}
