// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The nodes and the buffers of a step's graph (StepGraph.h).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_GRAPH_STEPNODE_H
#define INGOT_PASSES_SCHEDULE_GRAPH_STEPNODE_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallVector.h"

namespace ingot {

/// The attribute of operations that run concurrently with the others: the
/// number of their region (passes/schedule/streams).
inline constexpr llvm::StringLiteral kSideAttr = "ingot.side";

/// A tensor in the arena.
struct StepBuffer {
  mlir::Value value;
  int64_t bytes = 0;
  /// The node that writes it, or -1 for an input.
  int64_t writer = -1;
  /// The nodes that read it, without duplicates.
  llvm::SmallVector<unsigned, 4> readers;
  /// Whether the buffer is a result, or an input, which is live before and
  /// after the step.
  bool isKept = false;
  /// The bucket whose memory contains it, or -1, and its byte offset there.
  int64_t bucket = -1, offset = 0;
};

/// A result that may reuse an operand's memory.
struct InPlaceResult {
  unsigned result, operand;
};

/// An operation that is executed: any op except views.
struct StepNode {
  mlir::Operation *op = nullptr;
  /// The buffers that the node reads and writes, without duplicates.
  llvm::SmallSetVector<unsigned, 4> reads, writes;
  llvm::SmallVector<InPlaceResult, 2> inPlace;
  /// The nodes that must come after: readers of its results, and the writers
  /// of the states that it reads.
  llvm::SmallSetVector<unsigned, 4> successors;
  llvm::SmallVector<unsigned, 2> stateWriters;
  int64_t scratchBytes = 0;
  /// Whether it updates a state in place.
  bool writesState = false;
  /// The number of its region concurrent with the others (kSideAttr), or -1.
  int64_t side = -1;
  /// The node that it recomputes, or -1; of a fusion, perhaps only some
  /// results.
  int64_t original = -1;
  llvm::SmallBitVector results;
  /// The results of the original that it reads.
  llvm::SmallBitVector others;
};

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_GRAPH_STEPNODE_H
