// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// --inspect: a description of what the compiler planned.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_INSPECT_INSPECT_H
#define INGOT_RUNTIME_TRAINER_INSPECT_INSPECT_H

#include "runtime/core/Manifest.h"

#include <string>

namespace ingot::runtime {

/// Describes the module's functions, memory and kernels for `ranks` ranks.
std::string inspectAsJson(const Manifest &manifest, int64_t ranks);
std::string inspectAsText(const Manifest &manifest, int64_t ranks);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_INSPECT_INSPECT_H
