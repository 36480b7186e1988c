//===----------------------------------------------------------------------===//
//
// --plan: what a step takes on many ranks of a described cluster, without one.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_PLAN_H
#define INGOT_TOOLS_INGOTC_PLAN_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/cost/Cluster.h"

namespace ingot {

/// One number of ranks.
struct RankPlan {
  int64_t ranks = 1;
  /// Of a step: all of it, calls that compute, exchanges (which may be side by
  /// side with calls), and what calls wait for exchanges.
  double stepSeconds = 0, computeSeconds = 0, exchangeSeconds = 0,
         exposedSeconds = 0;
  /// What moving data of exchanges takes from the processors that compute.
  double hostSeconds = 0;
  /// Planned memory of rank 0, which has the largest shards.
  int64_t memoryBytes = 0;
};

/// Plays the calls of placed steps through: exchanges go on one at a time
/// beside calls, from their start to their wait.
RankPlan planRanks(mlir::ModuleOp module, const Cluster &cluster,
                   int64_t ranks);

/// Returns the plans as JSON.
std::string describePlans(mlir::ModuleOp module, const Cluster &cluster);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_PLAN_H
