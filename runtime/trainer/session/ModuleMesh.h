// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The mesh of the ranks that a module was compiled for.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_SESSION_MODULEMESH_H
#define INGOT_RUNTIME_TRAINER_SESSION_MODULEMESH_H

#include "runtime/comm/RankMesh.h"
#include "runtime/core/Manifest.h"

#include <optional>

namespace ingot::runtime {

/// Returns the mesh of a run of `ranks` ranks; without a number, of as few as
/// there can be. Throws badInput for a number that is no multiple of these.
RankMesh getMesh(const Manifest &manifest, std::optional<int64_t> ranks);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_SESSION_MODULEMESH_H
