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

/// The offset of a tensor in a bucket, and the size of the bucket, in elements.
struct Shard {
  int64_t first = 0, of = 0;

  bool operator==(const Shard &) const = default;
  mlir::DenseI64ArrayAttr toAttr(mlir::MLIRContext *context) const {
    return mlir::DenseI64ArrayAttr::get(context, {first, of});
  }
};

/// Propagates shards through a function, fused or not: from the results of
/// reduce-scatters and from sharded states, through elementwise ops, to
/// all-gathers.
class Shards {
public:
  /// Analyzes the function. Fails, with an error at the op, where an op needs
  /// elements outside of the rank's shard.
  static mlir::FailureOr<Shards> of(mlir::func::FuncOp function);

  /// Returns the shard of a tensor, and nothing for a tensor that is not
  /// sharded.
  std::optional<Shard> lookup(mlir::Value value) const;
  bool empty() const { return shards.empty(); }

private:
  mlir::LogicalResult visit(mlir::Operation &op);

  llvm::DenseMap<mlir::Value, Shard> shards;
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_ANALYSIS_SHARDS_H
