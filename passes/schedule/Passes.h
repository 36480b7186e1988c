// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes that order and place a step.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_PASSES_H
#define INGOT_PASSES_SCHEDULE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "passes/options/OptionValues.h"
#include <memory>

namespace ingot {

/// Unit attribute of functions whose operations are in execution order already.
inline constexpr llvm::StringLiteral kScheduledAttr = "ingot.scheduled";

#define GEN_PASS_DECL
#include "passes/schedule/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/schedule/Passes.h.inc"

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_PASSES_H
