// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Whether a function needs all elements of a parameter, or those of the rank's
// shard.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PARALLEL_PARAMETERREADS_H
#define INGOT_PASSES_PARALLEL_PARAMETERREADS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace ingot {

/// Follows values of which ranks may have shards through what is computed
/// element by element. A read is of a shard if it ends in values that are
/// sharded, such as the update of a parameter.
class ParameterReads {
public:
  /// Analyzes a function's block; `isSharded` tells the values that are
  /// computed from a shard of something else.
  ParameterReads(mlir::Block &block,
                 llvm::function_ref<bool(mlir::Value)> isSharded);

  /// Returns whether some of what is computed from the value needs all
  /// elements.
  bool isReadWhole(mlir::Value value) const;
  /// Returns whether the op that reads the value needs all elements for
  /// something.
  bool isReadWhole(mlir::OpOperand &use) const;

  /// Computes twice what is computed element by element from the parameters,
  /// and then read both ways: once from shards, and once from whole tensors.
  void separate(llvm::ArrayRef<mlir::Value> parameters);

private:
  /// The purposes of an op's results; bits of a set.
  enum Need : unsigned { Nothing = 0, Shard = 1, Whole = 2 };
  unsigned getNeed(mlir::OpOperand &use) const;

  mlir::Block &block;
  llvm::DenseMap<mlir::Operation *, unsigned> needs;
};

} // namespace ingot

#endif // INGOT_PASSES_PARALLEL_PARAMETERREADS_H
