//===----------------------------------------------------------------------===//
//
// Orders of a step that need little memory.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_ORDER_H
#define INGOT_PASSES_SCHEDULE_ORDER_H

#include "passes/schedule/StepGraph.h"

namespace ingot {

/// What an order costs: orders with less come first.
struct OrderCost {
  int64_t peakBytes = 0;
  /// Bytes times instants over the whole step.
  int64_t area = 0;

  auto operator<=>(const OrderCost &) const = default;
};

OrderCost measureOrder(const StepGraph &graph, llvm::ArrayRef<unsigned> order);

/// Returns an order that needs no more memory than `order`. List scheduling,
/// from the front: what is ready and frees at least as much as it takes runs at
/// once (updates follow their gradient), everything else in the given order;
/// then from the back: what takes more than it frees waits for its first
/// reader. A round that does not lower the cost is dropped. About linear in
/// edges.
llvm::SmallVector<unsigned> improveOrder(const StepGraph &graph,
                                         llvm::ArrayRef<unsigned> order);

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_ORDER_H
