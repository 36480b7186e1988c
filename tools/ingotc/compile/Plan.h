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
#include "passes/cost/Cluster.h"

namespace ingot {

/// The simulation for one number of ranks.
struct RankPlan {
  int64_t ranks = 1;
  /// The times of a step: the total, calls that compute, exchanges (which may
  /// overlap with calls), and the time that calls wait for exchanges.
  double stepSeconds = 0, computeSeconds = 0, exchangeSeconds = 0,
         exposedSeconds = 0;
  /// The CPU time that exchanges take from the cores that compute.
  double hostSeconds = 0;
  /// The planned memory of rank 0, which has the largest shards.
  int64_t memoryBytes = 0;
};

/// Simulates the calls of placed steps: exchanges proceed one at a time
/// concurrently with calls, from their start to their wait.
RankPlan planRanks(mlir::ModuleOp module, const Cluster &cluster,
                   int64_t ranks);

/// Returns the plans as JSON.
std::string describePlans(mlir::ModuleOp module, const Cluster &cluster);

/// Returns the predicted timeline of the training step as text, for a module
/// whose kernels are device functions. `isOrdered` is as for predictStep().
/// Throws if there is no such step.
std::string describeGpuPlan(mlir::ModuleOp module, llvm::StringRef gpu,
                            bool isOrdered);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_COMPILE_PLAN_H
