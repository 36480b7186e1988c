// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Simulates steps on the ranks of a cluster.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PLAN_REPLAY_H
#define INGOT_PASSES_PLAN_REPLAY_H

#include "passes/cost/Cluster.h"
#include "passes/plan/Trace.h"

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
  /// The bytes of all exchanges.
  double exchangedBytes = 0;
  /// The planned memory of rank 0, which has the largest shards.
  int64_t memoryBytes = 0;

  /// Adds a plan `times` times.
  void add(const RankPlan &other, double times);
};

/// How a step differs from the one that was traced.
struct ReplayScale {
  /// The time of the calls of the last micro-batch and of those before it,
  /// without those that ranks share, and the bytes that calls need from other
  /// ranks.
  double compute = 1, micro = 1, exchange = 1;
  /// The time of all calls: how the machine differs from the one that the trace
  /// was made for.
  double all = 1;
  /// The micro-batches of a step; 0 for those that were traced.
  int64_t microBatches = 0;
};

/// Simulates the calls of a step with all micro-batches: exchanges proceed one
/// at a time concurrently with calls, from their start to their wait.
RankPlan replay(const Trace &trace, const Cluster &cluster, int64_t ranks,
                ReplayScale scale = {});

/// Returns the number by which calls are multiplied so that the step of one
/// rank takes the time that the cluster's file states.
double getMeasuredScale(const Trace &trace, const Cluster &cluster);

} // namespace ingot

#endif // INGOT_PASSES_PLAN_REPLAY_H
