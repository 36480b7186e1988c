// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Follows the axis that counts samples, the first one of a model's inputs,
// through a function, to find where samples of a batch influence each other.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_ANALYSIS_SAMPLEFLOW_H
#define INGOT_DIALECTS_INGOT_ANALYSIS_SAMPLEFLOW_H

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace ingot {

/// An axis of a tensor that counts samples: element i along dimension `dim` is
/// of sample i / `inner` + `first`. With `dim` -1 the tensor is of one sample,
/// number `first`.
struct SampleAxis {
  int64_t dim, inner = 1, first = 0;

  bool operator==(const SampleAxis &other) const {
    return dim == other.dim && inner == other.inner && first == other.first;
  }
};

/// Which samples the elements of a tensor depend on.
struct SampleDependence {
  enum Kind {
    /// On none: parameters, constants.
    None,
    /// On those that the axes tell. Of several axes, on one of each: a matrix
    /// that compares samples.
    Axes,
    /// On all of them: a statistic of the batch.
    Whole,
    /// Not known.
    Unknown
  } kind = None;
  llvm::SmallVector<SampleAxis, 2> axes;
  /// Whether a statistic is more than a sum over the samples or a number for
  /// the whole tensor: a maximum along their axis.
  bool isSelection = false;
};

/// The analysis. What an op reads is known from how it computes an element
/// (ScalarBody, MovesElements), of composites from what they are made of.
class SampleFlow {
public:
  /// Analyzes the function, in whose inputs a batch is that many samples. Batch
  /// normalization and the like count as in evaluation, because their
  /// statistics of the batch are meant.
  SampleFlow(mlir::func::FuncOp function, int64_t batch);

  /// Returns the location of the first op in which samples influence each
  /// other in another way than by statistics; nothing if there is none.
  std::optional<mlir::Location> getMixing() const { return mixing; }

  /// Returns what a result of the function depends on.
  const SampleDependence &getResult(unsigned index) const {
    return results[index];
  }

private:
  /// The parts of an index into an operand.
  struct Index;

  void visitBlock(mlir::Block &block);
  void visitLoop(LoopOp loop);
  SampleDependence visitOp(mlir::Operation &op);
  SampleDependence readMoved(MovesElements op);
  SampleDependence readElements(ScalarBody op);
  SampleDependence readAt(mlir::Operation &op, unsigned operand,
                          llvm::ArrayRef<Index> indices);
  SampleDependence merge(mlir::Operation &op, SampleDependence left,
                         const SampleDependence &right, bool isChoice);
  SampleDependence mix(mlir::Operation &op);

  llvm::DenseMap<mlir::Value, SampleDependence> known;
  llvm::SmallVector<SampleDependence> results;
  std::optional<mlir::Location> mixing;
  /// The loops around what is visited.
  unsigned depth = 0;
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_ANALYSIS_SAMPLEFLOW_H
