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
  /// The ranks of an exchange that the next call needs: those that compute a
  /// step together, those of data, or all.
  enum Among { Group, Data, All } among = Group;
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
  /// The time that a call takes at least.
  double launchSeconds = 0;
  /// The planned memory of a rank without what it shares with others.
  int64_t peakBytes = 0;
  /// The parameters of a rank, whether others have parts of them or not.
  int64_t parameterBytes = 0;
  /// States of which ranks have parts: elements in all, the place and the size
  /// of their bucket, and the bits of an element.
  struct Shard {
    int64_t elements, first, of, bits;
  };
  std::vector<Shard> shards;

  /// Returns the time of calls of a step without micro-batches before it, of
  /// those whose work ranks share, or of the others.
  double getComputeSeconds(bool isShared) const;
  /// Returns the memory of one of `dataRanks` ranks that share states.
  int64_t getBytes(int64_t dataRanks) const;
};

/// Reads a module of placed steps that has a training step.
Trace readTrace(mlir::ModuleOp module);

} // namespace ingot

#endif // INGOT_PASSES_PLAN_TRACE_H
