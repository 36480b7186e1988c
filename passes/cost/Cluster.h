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
#include <limits>
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

/// How ranks, or groups of them, are linked: those of a node, of a rack, of all
/// nodes.
struct LinkLevel {
  Link link;
  /// The ranks that it links; of the last level any number.
  int64_t ranks = std::numeric_limits<int64_t>::max();
  /// Whether each rank has a link of its own. Otherwise each unit of the level
  /// below has one, which its ranks share.
  bool isPerRank = true;
};

/// Ranks that are numbered so that those of a unit of each level follow each
/// other.
struct Cluster {
  /// The numbers of ranks to simulate.
  llvm::SmallVector<int64_t> ranks;
  /// From the one that links the fewest ranks to the one that links all.
  llvm::SmallVector<LinkLevel, 2> levels;
  /// The memory of a rank in bytes; 0 if the file does not say.
  double memoryBytes = 0;
  /// The CPU time of exchanges; none if separate cores, or parts of the
  /// network, perform them.
  std::optional<HostWork> host;
  /// The measured time of a step on one rank; without it, the cost model
  /// estimates it.
  std::optional<double> stepSeconds;

  /// Reads the JSON of docs/cluster.md.
  static llvm::Expected<Cluster> read(llvm::StringRef text);

  /// Returns the time of an exchange of `bytes` by `count` ranks, each the
  /// `stride`th of those that are numbered, while as many others exchange among
  /// those between them: rings within the units of a level around rings between
  /// them, each of which carries the part of one rank, or trees where those are
  /// faster (Thakur et al., "Optimization of Collective Communication
  /// Operations in MPICH", 2005).
  double getSeconds(Exchange exchange, double bytes, int64_t count,
                    int64_t stride = 1) const;

  /// Returns the ranks that the first level links.
  int64_t getRanksPerNode() const {
    return levels.size() > 1 ? levels.front().ranks : 1;
  }

  /// Returns the CPU time of the exchange on one rank: each rank sends and
  /// receives all parts except one, twice for an all-reduce.
  double getHostSeconds(Exchange exchange, double bytes, int64_t count) const;
};

} // namespace ingot

#endif // INGOT_PASSES_COST_CLUSTER_H
