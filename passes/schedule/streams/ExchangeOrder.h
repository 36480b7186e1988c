// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The order of a step whose exchanges between ranks are in flight while it
// computes: list scheduling over two resources, what computes and the link,
// each of which takes one node at a time.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_STREAMS_EXCHANGEORDER_H
#define INGOT_PASSES_SCHEDULE_STREAMS_EXCHANGEORDER_H

#include "passes/schedule/graph/StepGraph.h"

namespace ingot {

/// The times of the nodes of a graph, in seconds.
struct NodeSeconds {
  NodeSeconds(const StepGraph &graph, const Machine &machine);

  llvm::SmallVector<double> seconds;
  /// The nodes that take the link.
  llvm::BitVector isExchange;
};

/// The times of a step.
struct ExchangeTimes {
  double step = 0, compute = 0, exchange = 0;

  double getExposed() const { return step - compute; }
};

/// Plays nodes in an order. An exchange begins when what is before it in the
/// order has been computed, and ends after those before it. Those `inFlight`
/// are waited for where their results are needed, the others at once.
ExchangeTimes playExchanges(const StepGraph &graph,
                            llvm::ArrayRef<unsigned> order,
                            const NodeSeconds &times,
                            const llvm::BitVector &inFlight);

/// Returns an order in which exchanges begin as soon as their operands are
/// there, and while a node would wait for one, of the next `window` nodes the
/// first that need not wait comes before it. Exchanges keep their order among
/// themselves, and so do sums of buckets; loops keep that of both.
llvm::SmallVector<unsigned> overlapExchanges(const StepGraph &graph,
                                             llvm::ArrayRef<unsigned> order,
                                             const NodeSeconds &times,
                                             size_t window);

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_STREAMS_EXCHANGEORDER_H
