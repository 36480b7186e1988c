// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// --inspect: what the compiler planned.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_LOOP_INSPECT_H
#define INGOT_RUNTIME_TRAINER_LOOP_INSPECT_H

#include "runtime/core/Manifest.h"

#include <string>

namespace ingot::runtime {

std::string inspectAsJson(const Manifest &manifest, int64_t ranks);
std::string inspectAsText(const Manifest &manifest, int64_t ranks);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_LOOP_INSPECT_H
