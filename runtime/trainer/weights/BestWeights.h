// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A copy of the weights of the best evaluation, of which the export and the
// predictions are made at the end of a run.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_WEIGHTS_BESTWEIGHTS_H
#define INGOT_RUNTIME_TRAINER_WEIGHTS_BESTWEIGHTS_H

#include "runtime/core/Memory.h"
#include "runtime/trainer/session/Session.h"

#include <optional>
#include <vector>

namespace ingot::runtime {

class BestWeights {
public:
  explicit BestWeights(Session &session);

  /// Copies what training changes of the model, between two steps.
  void keep(int64_t step);
  /// The step that was kept; nothing before the first.
  std::optional<int64_t> getStep() const { return step; }
  /// Sets the model to what was kept. No other rank runs a step any more.
  void restore();

private:
  struct Kept {
    const StateSpec *spec;
    char *values;
  };

  Session &session;
  std::optional<int64_t> step;
  Block block;
  std::vector<Kept> states;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_WEIGHTS_BESTWEIGHTS_H
