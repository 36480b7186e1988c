// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Prunes weights between steps. Programs link what opens a pruner by name
// (-u ingot_pruning): trainers without --prune do without, and that function is
// null there.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_PRUNING_PRUNER_H
#define INGOT_RUNTIME_TRAINER_PRUNING_PRUNER_H

#include "runtime/trainer/session/Session.h"

#include <cstdint>
#include <memory>

namespace ingot::runtime {

/// How many elements of the weights that can be pruned are pruned.
struct PrunedElements {
  int64_t pruned = 0, elements = 0, weights = 0;

  double getShare() const {
    return static_cast<double>(pruned) / static_cast<double>(elements);
  }
};

/// Prunes the weights of a session, whose states are complete and on the host
/// whenever it is called.
class Pruner {
public:
  virtual ~Pruner() = default;

  /// Whether schedules change what is pruned after that many steps.
  virtual bool isDue(int64_t steps) const = 0;
  /// Prunes what schedules ask for after that many steps and is not pruned yet:
  /// sets bits, and clears the elements of weights and moments. Returns whether
  /// there was any.
  virtual bool prune(int64_t steps) = 0;
  /// Clears elements whose bits are set.
  virtual void clear() = 0;
  virtual PrunedElements count() const = 0;
};

/// The functions of pruning.
struct PruningPart {
  /// Returns the pruner of a session, which has to outlive it. Throws failure
  /// for a manifest that is damaged.
  std::unique_ptr<Pruner> (*open)(Session &session);
};

extern "C" {
/// Returns what is linked.
__attribute__((weak)) const PruningPart *ingot_pruning();
}

/// Returns the pruner of a session of a module of --prune; null for others.
inline std::unique_ptr<Pruner> openPruner(Session &session) {
  return ingot_pruning != nullptr ? ingot_pruning()->open(session) : nullptr;
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_PRUNING_PRUNER_H
