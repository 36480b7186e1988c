// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Which states are of adapters, and which have one.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_STATE_ADAPTERSTATES_H
#define INGOT_RUNTIME_TRAINER_STATE_ADAPTERSTATES_H

#include "runtime/core/Manifest.h"

#include <string>

namespace ingot::runtime {

/// Returns the adapter of the weight that a state is; null if it has none.
const AdapterSpec *findAdapter(const Manifest &manifest,
                               const std::string &state);

/// Returns the state of the squares of the norms of the rows of a weight that
/// has magnitudes; the compiler names it so.
std::string getSquaresName(const AdapterSpec &adapter);

/// Whether a parameter or a constant is of an adapter, and not of the model.
bool isOfAdapter(const Manifest &manifest, const std::string &state);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_STATE_ADAPTERSTATES_H
