// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The part of each operation of a training step: the forward pass, the backward
// pass or the optimizer; and where the gradients are.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_PLACE_STEPPARTS_H
#define INGOT_PASSES_SCHEDULE_PLACE_STEPPARTS_H

#include "dialects/ingot/ir/Signature.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace ingot {

/// The parts of a function with the result `loss`; of other functions, nothing.
///
/// - `forward` is what the loss depends on.
/// - `optimizer` is what computes new values of parameters and of their
///   moments, and what only it reads: what depends on a gradient without being
///   one, as the norm of all gradients, and scalars that depend on no sample.
/// - `backward` is the rest: also forward values that are recomputed, and
///   kernels that update a parameter beside a value that the backward pass
///   reads.
class StepParts {
public:
  /// The value that the update of a parameter takes as its gradient, in the
  /// memory that a kernel wrote it to: with loss scaling it is still scaled.
  struct Gradient {
    mlir::FlatSymbolRefAttr parameter;
    mlir::Value value;
  };

  explicit StepParts(Signature signature);

  /// Returns the part of an operation; empty if it is not known.
  llvm::StringRef getPart(mlir::Operation *op) const {
    return parts.lookup(op);
  }
  /// Returns the gradients that are in memory, which one that is computed in
  /// the kernel of its update is not.
  llvm::ArrayRef<Gradient> getGradients() const { return gradients; }

private:
  void addForward(mlir::Value loss);
  void findUpdates(Signature signature, mlir::SymbolTable &symbols);
  void findReaders();
  void findPreparations(mlir::Block &body);

  llvm::DenseMap<mlir::Operation *, llvm::StringRef> parts;
  llvm::SmallVector<Gradient> gradients;
  /// The gradients of all updates.
  llvm::SmallVector<mlir::Value> read;
  /// Operations that belong to the optimizer if nothing else reads them.
  llvm::DenseSet<mlir::Operation *> candidates;
};

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_PLACE_STEPPARTS_H
