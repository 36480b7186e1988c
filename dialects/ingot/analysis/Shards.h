//===----------------------------------------------------------------------===//
//
// Which tensors of a function a rank has in part: where its elements are in a
// bucket of which each rank has a shard (docs/spec/collective.md).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_ANALYSIS_SHARDS_H
#define INGOT_DIALECTS_INGOT_ANALYSIS_SHARDS_H

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace ingot {

/// Follows shards through a function, fused or not: from the ends of
/// reduce-scatters and from states that say so, through what computes element
/// by element, to all-gathers.
class Shards {
public:
  /// Fails, with an error at the op, where something needs elements that the
  /// rank does not have.
  static mlir::FailureOr<Shards> of(mlir::func::FuncOp function);

  /// Null for a tensor that the rank has whole.
  ShardAttr lookup(mlir::Value value) const { return shards.lookup(value); }
  bool empty() const { return shards.empty(); }

private:
  mlir::LogicalResult visit(mlir::Operation &op);

  llvm::DenseMap<mlir::Value, ShardAttr> shards;
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_ANALYSIS_SHARDS_H
