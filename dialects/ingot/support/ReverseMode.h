// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Reverse-mode differentiation of a block over the Differentiable interface:
// of a training step, and of the body of a loop.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_SUPPORT_REVERSEMODE_H
#define INGOT_DIALECTS_INGOT_SUPPORT_REVERSEMODE_H

#include "dialects/ingot/ir/Dialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace ingot {

/// Returns whether the value is of floating point: others have no gradient.
bool isDifferentiable(mlir::Value value);

/// The values of a block between sources and sinks.
class Activity {
public:
  Activity(mlir::Block &block, llvm::ArrayRef<mlir::Value> sources,
           llvm::ArrayRef<mlir::Value> sinks);

  /// Returns whether the value depends on a source.
  bool isDependent(mlir::Value value) const {
    return dependent.contains(value);
  }
  /// Returns whether a sink depends on the value.
  bool isRelevant(mlir::Value value) const { return relevant.contains(value); }
  /// Returns whether the value depends on a source and a sink on the value.
  bool isActive(mlir::Value value) const {
    return isDependent(value) && isRelevant(value);
  }

private:
  llvm::DenseSet<mlir::Value> dependent, relevant;
};

/// The cotangents of values, which are summed as they are added. Those of a
/// repeated value are kept separate: their sums over the repetitions are
/// smaller, and the cotangent of one layer is not kept in memory until those of
/// all layers are there.
class Cotangents {
public:
  /// Returns the cotangents of the value: at most one, except for a repeated
  /// value.
  llvm::ArrayRef<mlir::Value> getParts(mlir::Value value) const;
  /// Returns the cotangent of a value that is not repeated; null for none.
  mlir::Value get(mlir::Value value) const;
  void add(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
           mlir::Value cotangent);

private:
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 1>> parts;
};

/// Emits one error for all ops of the block between sources and sinks that
/// have no gradient.
llvm::LogicalResult checkGradients(mlir::Block &block,
                                   const Activity &activity);

/// Adds to the cotangents what the ops of the block, which has passed
/// `checkGradients`, contribute: in reverse order of `ops`, the ops that are
/// part of it. Returns the number of ops that were differentiated.
llvm::FailureOr<unsigned> addCotangents(llvm::ArrayRef<mlir::Operation *> ops,
                                        mlir::OpBuilder &builder,
                                        const Activity &activity,
                                        Cotangents &cotangents);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_SUPPORT_REVERSEMODE_H
