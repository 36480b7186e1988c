// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Orders of a step that reduce peak memory.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_ORDER_H
#define INGOT_PASSES_SCHEDULE_ORDER_H

#include "passes/schedule/graph/StepGraph.h"

namespace ingot {

/// The cost of an order; orders with lower cost come first.
struct OrderCost {
  int64_t peakBytes = 0;
  /// The sum over all instants of the live bytes.
  int64_t area = 0;

  auto operator<=>(const OrderCost &) const = default;
};

OrderCost measureOrder(const StepGraph &graph, llvm::ArrayRef<unsigned> order);

/// Returns an order that needs no more memory than `order`. The list scheduling
/// first goes forward: a ready node that frees at least as much as it allocates
/// runs at once (updates follow their gradient), all others in the given order;
/// then backward: a node that allocates more than it frees is delayed to its
/// first reader. A round that does not lower the cost is dropped. The time is
/// about linear in the number of edges.
llvm::SmallVector<unsigned> improveOrder(const StepGraph &graph,
                                         llvm::ArrayRef<unsigned> order);

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_ORDER_H
