// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The elements of weights that are pruned, which the updates of a step keep at
// zero.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_AUTODIFF_PRUNEDWEIGHTS_H
#define INGOT_PASSES_AUTODIFF_PRUNEDWEIGHTS_H

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/ir/Signature.h"
#include "llvm/ADT/MapVector.h"

namespace ingot {

class PrunedWeights {
public:
  /// Adds a state of bits for each weight that is pruned (kPruningAttr) and of
  /// which the step has a gradient.
  PrunedWeights(Signature step, const ResultList &results);

  /// Returns a tensor of the weight's shape, such as its gradient, with zeros
  /// where the weight is pruned. Others stay as they are.
  mlir::Value clear(mlir::OpBuilder &builder, mlir::FlatSymbolRefAttr weight,
                    mlir::Value value);

private:
  struct Bits {
    mlir::BlockArgument packed;
    llvm::SmallVector<int64_t> shape;
    /// A boolean for each element of the weight; null before the first use.
    mlir::Value unpacked = {};
  };
  llvm::MapVector<mlir::Attribute, Bits> weights;
};

} // namespace ingot

#endif // INGOT_PASSES_AUTODIFF_PRUNEDWEIGHTS_H
