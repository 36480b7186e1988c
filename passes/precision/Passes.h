// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes for mixed precision.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PRECISION_PASSES_H
#define INGOT_PASSES_PRECISION_PASSES_H

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "passes/options/OptionValues.h"
#include <memory>

namespace ingot {

#define GEN_PASS_DECL
#include "passes/precision/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/precision/Passes.h.inc"

} // namespace ingot

#endif // INGOT_PASSES_PRECISION_PASSES_H
