// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Whether the weights of the model are finite. A step whose loss is finite can
// still leave others, which nothing would show before they are used.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_WEIGHTS_FINITEWEIGHTS_H
#define INGOT_RUNTIME_TRAINER_WEIGHTS_FINITEWEIGHTS_H

#include "runtime/checkpoint/SafeTensors.h"
#include "runtime/core/Error.h"
#include "runtime/trainer/session/Session.h"

#include <optional>
#include <string>
#include <vector>

namespace ingot::runtime {

class Communicator;

/// A state of the model, and the type in which it leaves the trainer, which may
/// hold less than the state's own.
struct LeavingState {
  const StateSpec *spec;
  DType dtype;
};

/// Returns the states of the model in their own types.
std::vector<LeavingState> listModel(const Manifest &manifest);

/// Describes the states that are not finite, as in "fc.weight (3 of 64
/// values)"; empty if all are finite. Infinities that the model itself has in
/// the same places, such as those of masks, are passed over. Of a sharded state
/// this rank's part is seen.
std::vector<std::string> findNotFinite(Session &session,
                                       const std::vector<LeavingState> &states);

/// Looks at the states that are whole in a copy of all.
std::vector<std::string> findNotFinite(Session &session,
                                       const SafeTensors &copy);

/// Throws a failure at `where` if a state in the copy is not finite.
void requireFinite(Session &session, const SafeTensors &copy,
                   const std::string &where);

/// Returns an error at `where`, on all ranks, if a state of one of them is not
/// finite. All ranks call it.
std::optional<Error> explainNotFinite(Session &session, Communicator &ranks,
                                      const std::string &where);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_WEIGHTS_FINITEWEIGHTS_H
