// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes that change what is trained of a model.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_ADAPT_PASSES_H
#define INGOT_PASSES_ADAPT_PASSES_H

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "passes/options/AdapterRule.h"
#include "passes/options/BaseRule.h"
#include "passes/options/DistillRule.h"
#include "passes/options/PruneRule.h"

namespace ingot {

#define GEN_PASS_DECL
#include "passes/adapt/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/adapt/Passes.h.inc"

} // namespace ingot

#endif // INGOT_PASSES_ADAPT_PASSES_H
