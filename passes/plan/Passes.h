// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes that prepare a model for being planned.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PLAN_PASSES_H
#define INGOT_PASSES_PLAN_PASSES_H

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace ingot {

#define GEN_PASS_DECL
#include "passes/plan/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/plan/Passes.h.inc"

} // namespace ingot

#endif // INGOT_PASSES_PLAN_PASSES_H
