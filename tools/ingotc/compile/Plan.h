// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Implements --plan: simulates a step on many ranks of a described cluster; and
// --plan-gpu: predicts it on a GPU.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_COMPILE_PLAN_H
#define INGOT_TOOLS_INGOTC_COMPILE_PLAN_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/plan/Replay.h"

namespace ingot {

/// Returns the plans as JSON.
std::string describePlans(mlir::ModuleOp module, const Cluster &cluster);

/// Returns the predicted timeline of the training step as text, for a module
/// whose kernels are device functions. `isOrdered` is as for predictStep().
/// Throws if there is no such step.
std::string describeGpuPlan(mlir::ModuleOp module, llvm::StringRef gpu,
                            bool isOrdered);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_COMPILE_PLAN_H
