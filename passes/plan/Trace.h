// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The calls, exchanges and waits of a placed step in their order: small enough
// that thousands of clusters and layouts can be replayed.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PLAN_TRACE_H
#define INGOT_PASSES_PLAN_TRACE_H

#include "mlir/IR/BuiltinOps.h"
#include "runtime/abi/Table.h"

#include <vector>

namespace ingot {

struct TraceItem {
  enum Kind {
    /// A kernel or a library call.
    Compute,
    /// An exchange begins that calls need not wait for, and a call waits for
    /// it.
    Start,
    Wait,
    /// An exchange that the next call needs, or that is in flight in a region.
    Exchange,
    /// A call waits for the exchanges of a region, and of those before it.
    RegionWait
  } kind = Compute;
  /// The time of a call, and how often it runs.
  double seconds = 0, times = 1;
  /// Whether ranks share what is computed: an update of a shard.
  bool isShared = false;
  abi::Exchange exchange = abi::Exchange::None;
  /// The bytes that are exchanged. Of compressed buckets each rank's part is
  /// sent to all.
  double bytes = 0;
  bool isCompressed = false;
  /// The axes (ingot_axis) along which the ranks of an exchange differ.
  int32_t axes = INGOT_TENSOR;
  /// The number of an exchange that is waited for, or of a region.
  int64_t number = 0;
  /// The region in which an exchange is in flight; -1 for none.
  int64_t region = -1;
};

struct Trace {
  /// The calls of a step, and of the micro-batches before it, if there are any.
  std::vector<TraceItem> step, micro;
  int64_t microBatches = 1;
  /// The ranks that compute a step together.
  int64_t group = 1;
  /// The ranks that have all shards among them; 1 if all along data have.
  int64_t inner = 1;
  /// The time that a call takes at least.
  double launchSeconds = 0;
  /// The planned memory of a rank without what it shares with others.
  int64_t peakBytes = 0;
  /// States of which ranks have parts: elements in all, the place and the size
  /// of their bucket, and the bits of an element.
  struct Shard {
    int64_t elements, first, of, bits;
  };
  std::vector<Shard> shards;

  /// Returns how many of `ranks` ranks share what ranks have shards of.
  int64_t getShardRanks(int64_t ranks) const {
    return inner > 1 ? inner : std::max<int64_t>(1, ranks / group);
  }
  /// Returns the time of calls, of those whose work ranks share, or of the
  /// others.
  static double getComputeSeconds(const std::vector<TraceItem> &items,
                                  bool isShared);
  /// Returns the memory of one of `shardRanks` ranks that share states.
  int64_t getBytes(int64_t shardRanks) const;
};

/// Reads a module of placed steps that has a training step.
Trace readTrace(mlir::ModuleOp module);

} // namespace ingot

#endif // INGOT_PASSES_PLAN_TRACE_H
