// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// --inspect: a description of what the compiler planned.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_INSPECT_INSPECT_H
#define INGOT_RUNTIME_TRAINER_INSPECT_INSPECT_H

#include "runtime/comm/RankMesh.h"
#include "runtime/core/Manifest.h"

#include <string>

namespace ingot::runtime {

/// Describes the module's functions, memory and kernels for the ranks of a
/// mesh.
std::string inspectAsJson(const Manifest &manifest, const RankMesh &mesh);
std::string inspectAsText(const Manifest &manifest, const RankMesh &mesh);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_INSPECT_INSPECT_H
