// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes that generate code for the emulator of GPUs.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_EMULATOR_PASSES_H
#define INGOT_PASSES_TARGETS_EMULATOR_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace ingot {

#define GEN_PASS_DECL
#include "passes/targets/emulator/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/targets/emulator/Passes.h.inc"

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_EMULATOR_PASSES_H
