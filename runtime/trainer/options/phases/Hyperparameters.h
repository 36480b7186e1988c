// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The hyperparameters of all optimizers.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_HYPERPARAMETERS_H
#define INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_HYPERPARAMETERS_H

#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace ingot::runtime {

/// A hyperparameter with its description for --help, and the values that an
/// optimizer can work with.
struct KnownHyperparameter {
  const char *name, *description;
  double least = 0;
  double limit = std::numeric_limits<double>::infinity();
  /// Whether `limit` itself is a value.
  bool includesLimit = false;
};

/// Returns all of them.
std::span<const KnownHyperparameter> getKnownHyperparameters();

/// Returns the one of that name; null if it is not known.
const KnownHyperparameter *findKnownHyperparameter(std::string_view name);

/// Returns the option that sets a hyperparameter, like `--weight-decay`.
std::string getFlag(std::string_view name);

/// Parses the text as a value of the hyperparameter. Returns what is wrong with
/// it, or nothing.
std::string checkHyperparameter(std::string_view name, const std::string &text);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_HYPERPARAMETERS_H
