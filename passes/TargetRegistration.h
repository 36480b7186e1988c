// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Registration of all targets, and of their options.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETREGISTRATION_H
#define INGOT_PASSES_TARGETREGISTRATION_H

namespace ingot {

/// Registers the targets for Target::of(). Registering them again has no
/// effect.
void registerIngotTargets();

} // namespace ingot

#endif // INGOT_PASSES_TARGETREGISTRATION_H
