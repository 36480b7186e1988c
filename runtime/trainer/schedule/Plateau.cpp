// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/schedule/Plateau.h"

#include <algorithm>
#include <cmath>

using namespace ingot::runtime;

/// torch's defaults: what is no progress, and what is no fall of the rate.
static constexpr double kThreshold = 1e-4, kLeastFall = 1e-8;

void Plateau::resume(const RunSettings::Plateau &saved) {
  if (saved.metric == state.metric)
    state = saved;
}

bool Plateau::add(double value) {
  // As torch computes them: of a negative best, both are worse than it.
  bool isBetter =
      std::isfinite(value) &&
      (!state.best || (wantsLess ? value < *state.best * (1 - kThreshold)
                                 : value > *state.best * (1 + kThreshold)));
  if (isBetter) {
    state.best = value;
    state.since = 0;
    return false;
  }
  if (++state.since <= shape.patience)
    return false;
  state.since = 0;
  double next = std::max(state.factor * shape.factor, least);
  if ((state.factor - next) * rate <= kLeastFall)
    return false;
  state.factor = next;
  return true;
}
