// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes for several ranks.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PARALLEL_PASSES_H
#define INGOT_PASSES_PARALLEL_PASSES_H

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace ingot {

#define GEN_PASS_DECL
#include "passes/parallel/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/parallel/Passes.h.inc"

} // namespace ingot

#endif // INGOT_PASSES_PARALLEL_PASSES_H
