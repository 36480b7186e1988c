// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Which parameters can be updated in shards, and what of the updates is then a
// sum over ranks.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PARALLEL_FLATUPDATES_H
#define INGOT_PASSES_PARALLEL_FLATUPDATES_H

#include "dialects/ingot/exchange/ExchangeOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace ingot {

/// Follows sums of gradients through a step as if each rank had a shard of
/// them. What is computed element by element has the same shard. A sum of
/// squares over a shard is a part of a sum over ranks, and so is what is linear
/// in it; any other reader needs the sum. A gradient that is read in another
/// way stays whole.
class FlatUpdates {
public:
  FlatUpdates(mlir::func::FuncOp function, llvm::ArrayRef<AllReduceOp> sums);

  /// Returns whether ranks can have shards of the sum.
  bool isFlat(AllReduceOp sum) const { return candidates.contains(sum); }
  /// Returns whether ranks can have shards of a value that is computed from
  /// such a sum.
  bool isShard(mlir::Value value) const { return flat.contains(value); }
  /// The sums that stay whole, and why.
  const llvm::MapVector<mlir::Operation *, llvm::StringRef> &
  getRejected() const {
    return rejected;
  }

  /// Once sums have become shards, computes sums of squares from the shards, by
  /// the op that was the sum. Returns the sums over ranks of these.
  llvm::SmallVector<AllReduceOp>
  sumShards(const llvm::DenseMap<mlir::Operation *, ShardAttr> &shards);

private:
  struct Square {
    ReduceOp reduce;
    mlir::Operation *sum;
  };

  bool propagate();
  void visit(mlir::Operation &op);
  void visitSum(AllReduceOp sum);
  void visitReturn(mlir::Operation &op);
  void visitFlat(mlir::Operation &op, mlir::Operation *sum);
  void visitPartial(mlir::Operation &op);
  void reject(mlir::Operation *sum, llvm::StringRef reason);
  bool varies(mlir::Value value) const;
  mlir::Value computeSquares(const Square &square, ShardAttr shard);

  mlir::func::FuncOp function;
  llvm::ArrayRef<AllReduceOp> sums;
  llvm::DenseSet<mlir::Operation *> candidates;
  llvm::MapVector<mlir::Operation *, llvm::StringRef> rejected;
  /// The sum of whose shard each value is computed.
  llvm::DenseMap<mlir::Value, mlir::Operation *> flat;
  /// Values whose sum over ranks is meant, and those that differ between ranks
  /// for other reasons.
  llvm::DenseSet<mlir::Value> partial, varying;
  llvm::SmallVector<Square> squares;
  /// The reads of sums over ranks.
  llvm::SmallVector<mlir::OpOperand *> reads;
};

} // namespace ingot

#endif // INGOT_PASSES_PARALLEL_FLATUPDATES_H
