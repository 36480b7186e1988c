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

/// The training step for the first steps, which exchange whole gradients, and
/// on a module the number of these steps.
inline constexpr llvm::StringLiteral kUncompressedStepName =
    "uncompressed_step";
inline constexpr llvm::StringLiteral kUncompressedStepsAttr =
    "ingot.uncompressed_steps";

#define GEN_PASS_DECL
#include "passes/parallel/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/parallel/Passes.h.inc"

} // namespace ingot

#endif // INGOT_PASSES_PARALLEL_PASSES_H
