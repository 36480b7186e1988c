// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/options/phases/Hyperparameters.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

using namespace ingot::runtime;

static constexpr KnownHyperparameter kKnown[] = {
    {"lr", "Learning rate; follows --schedule"},
    {"weight_decay", "Weight decay"},
    {"beta1", "Decay of the first moment", 0, 1},
    {"beta2", "Decay of the second moment", 0, 1},
    {"alpha", "Decay of the mean of squares", 0, 1},
    {"rho", "Decay of the means of squares", 0, 1},
    {"eps", "Added to denominators"},
    {"correct_bias", "1 corrects moments for their start at zero; 0 does not",
     0, 1, true},
    {"beta3", "Decay of the slow mean, once warmed up", 0, 1},
    {"slow_weight", "Weight of the slow mean, once warmed up"},
    {"slow_weight_warmup", "Steps in which it grows; 0: none", 0},
    {"beta3_warmup", "Steps in which beta3 grows from beta1; 0: none", 0},
    {"momentum_decay", "Growth of the momentum over the steps"},
    {"beta2_decay", "Decay of second moments: 1 - step^this", -1, 0, true},
    {"clip_threshold", "Updates have at most this root mean square"},
    {"match_rms_adamw", "1: matrices move as far as by adamw; 0: muon's own", 0,
     1, true},
    {"r", "The average weights a step by step^this"},
    {"weight_lr_power", "... and by the largest rate to this power"},
    {"momentum", "Decay of the momentum"},
    {"clip_norm", "Clip gradients to this global norm; 0 does not clip"},
    {"loss_scale_growth", "The loss scale grows by this factor", 1},
    {"loss_scale_interval", "... after this many good steps in a row", 1},
    {"loss_scale_backoff", "An overflow multiplies the loss scale by this", 0,
     1, true},
    {"loss_scale_hysteresis", "... once there were this many", 1},
};

std::span<const KnownHyperparameter> ingot::runtime::getKnownHyperparameters() {
  return kKnown;
}

const KnownHyperparameter *
ingot::runtime::findKnownHyperparameter(std::string_view name) {
  const auto *found =
      std::find_if(std::begin(kKnown), std::end(kKnown),
                   [&](const auto &known) { return name == known.name; });
  return found == std::end(kKnown) ? nullptr : found;
}

std::string ingot::runtime::getFlag(std::string_view name) {
  std::string flag = "--" + std::string(name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::string ingot::runtime::checkHyperparameter(std::string_view name,
                                                const std::string &text) {
  double value = 0;
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value))
    return fmt::format("'{}' is not a number", text);
  const KnownHyperparameter *known = findKnownHyperparameter(name);
  if (!known || (value >= known->least &&
                 (value < known->limit ||
                  (known->includesLimit && value == known->limit))))
    return {};
  if (std::isinf(known->limit))
    return fmt::format("'{}' is less than {}", text, known->least);
  return fmt::format("'{}' is not between {} and {}{}", text, known->least,
                     known->limit, known->includesLimit ? "" : ", exclusive");
}
