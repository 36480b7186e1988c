// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The time of data exchanges between many ranks, from the links between them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_COST_CLUSTER_H
#define INGOT_PASSES_COST_CLUSTER_H

#include "mlir/Support/LLVM.h"
#include "runtime/abi/Table.h"
#include "llvm/Support/Error.h"
#include <optional>

namespace ingot {

using abi::Exchange;

/// A link between two ranks or nodes: latency in seconds, and bytes per second.
struct Link {
  double seconds = 0, bandwidth = 0;
};

/// The CPU time that exchanges take from the cores that compute: seconds per
/// exchange, and the throughput in bytes per second with which payloads are
/// packed and unpacked.
struct HostWork {
  double seconds = 0, bandwidth = 0;
};

/// Nodes with equal numbers of ranks. Within a node, each rank has a link
/// `inside`; each node has one link to the network, which its ranks share.
struct Cluster {
  /// The numbers of ranks to simulate.
  llvm::SmallVector<int64_t> ranks;
  int64_t ranksPerNode = 1;
  Link inside, between;
  /// The CPU time of exchanges; none if separate cores, or parts of the
  /// network, perform them.
  std::optional<HostWork> host;
  /// The measured time of a step on one rank; without it, the cost model
  /// estimates it.
  std::optional<double> stepSeconds;

  /// Reads the JSON of docs/cluster.md.
  static llvm::Expected<Cluster> read(llvm::StringRef text);

  /// Returns the time of an exchange of `bytes` by that many ranks: rings
  /// within nodes around rings between nodes, each of which carries the part of
  /// one rank, or trees where those are faster (Thakur et al., "Optimization of
  /// Collective Communication Operations in MPICH", 2005).
  double getSeconds(Exchange exchange, double bytes, int64_t count) const;

  /// Returns the CPU time of the exchange on one rank: each rank sends and
  /// receives all parts except one, twice for an all-reduce.
  double getHostSeconds(Exchange exchange, double bytes, int64_t count) const;
};

} // namespace ingot

#endif // INGOT_PASSES_COST_CLUSTER_H
