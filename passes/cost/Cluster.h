//===----------------------------------------------------------------------===//
//
// Many ranks: how long they exchange data, from the links between them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_COST_CLUSTER_H
#define INGOT_PASSES_COST_CLUSTER_H

#include "mlir/Support/LLVM.h"
#include "llvm/Support/Error.h"
#include <optional>

namespace ingot {

enum class Exchange { AllReduce, ReduceScatter, AllGather };

/// How data goes from one to the next: seconds of a message of no length, and
/// bytes per second.
struct Link {
  double seconds = 0, bandwidth = 0;
};

/// What exchanges take from the processors that compute: seconds of each, and
/// the rate at which these move bytes into messages and out of them.
struct HostWork {
  double seconds = 0, bandwidth = 0;
};

/// Nodes of equally many ranks. Within a node, each rank has a link `inside`;
/// nodes have one link each, which their ranks share.
struct Cluster {
  /// Numbers of ranks to plan for.
  llvm::SmallVector<int64_t> ranks;
  int64_t ranksPerNode = 1;
  Link inside, between;
  /// None where processors, or parts of a network, do nothing else.
  std::optional<HostWork> host;
  /// What a step takes alone, measured; without it, what the cost model says.
  std::optional<double> stepSeconds;

  /// Reads the JSON of docs/cluster.md.
  static llvm::Expected<Cluster> read(llvm::StringRef text);

  /// Returns the time of an exchange of `bytes` by that many ranks: rings
  /// within nodes around rings between nodes, each of which carries one rank's
  /// part, or trees where that is less (Thakur et al., "Optimization of
  /// Collective Communication Operations in MPICH", 2005).
  double getSeconds(Exchange exchange, double bytes, int64_t count) const;

  /// Returns what it takes from a rank's computing: each rank sends and
  /// receives all parts but one, for an all-reduce twice.
  double getHostSeconds(Exchange exchange, double bytes, int64_t count) const;
};

} // namespace ingot

#endif // INGOT_PASSES_COST_CLUSTER_H
