// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes that generate host code, for every target.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_HOST_PASSES_H
#define INGOT_PASSES_TARGETS_HOST_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace ingot {

#define GEN_PASS_DECL
#include "passes/targets/host/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/targets/host/Passes.h.inc"

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_HOST_PASSES_H
