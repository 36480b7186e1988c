// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes that generate CPU code, and the pipeline from a module to an object
// file.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CPU_PASSES_H
#define INGOT_PASSES_TARGETS_CPU_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace ingot {

#define GEN_PASS_DECL
#include "passes/targets/cpu/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/targets/cpu/Passes.h.inc"

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_CPU_PASSES_H
