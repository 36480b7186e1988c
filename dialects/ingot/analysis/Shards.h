// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Finds the tensors of a function that are sharded: their offsets in a bucket
// of which each rank owns a shard (docs/spec/collective.md).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_ANALYSIS_SHARDS_H
#define INGOT_DIALECTS_INGOT_ANALYSIS_SHARDS_H

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace ingot {

class InBlocks;

/// Propagates shards through a function, fused or not: from the results of
/// reduce-scatters and from sharded states, through elementwise ops, to
/// all-gathers.
class Shards {
public:
  /// Analyzes the function. Fails, with an error at the op, where an op needs
  /// elements outside of the rank's shard.
  static mlir::FailureOr<Shards> of(mlir::func::FuncOp function);

  /// Returns the shard of a tensor; null for a tensor that is not sharded.
  ShardAttr lookup(mlir::Value value) const { return shards.lookup(value); }
  bool empty() const { return shards.empty(); }

private:
  mlir::LogicalResult visit(mlir::Operation &op);
  mlir::LogicalResult visitBlocks(InBlocks op,
                                  llvm::ArrayRef<ShardAttr> operands);

  llvm::DenseMap<mlir::Value, ShardAttr> shards;
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_ANALYSIS_SHARDS_H
