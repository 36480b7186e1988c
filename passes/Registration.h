// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// All dialects and passes of Ingot, for the tools.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_REGISTRATION_H
#define INGOT_PASSES_REGISTRATION_H

#include "passes/TargetRegistration.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace ingot {

/// Registers every pass and pipeline, stage by stage. Call once.
void registerIngotPasses();

/// Registers the dialects of this tree, and the targets that attributes name.
void registerIngotDialects(mlir::DialectRegistry &registry);

} // namespace ingot

#endif // INGOT_PASSES_REGISTRATION_H
