// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The optimizers: hyperparameters, moments, and the update of one parameter.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_AUTODIFF_OPTIMIZERS_H
#define INGOT_PASSES_AUTODIFF_OPTIMIZERS_H

#include "dialects/ingot/builders/Arithmetic.h"
#include "llvm/ADT/StringMap.h"
#include <memory>

namespace ingot {

/// A number that the trainer passes in at every step, as a scalar f64 input.
struct Hyperparameter {
  llvm::StringRef name;
  double initial;
};

/// Values of hyperparameters by name, in f64.
using Hyperparameters = llvm::StringMap<mlir::Value>;

/// One parameter at its update. All tensors have one shape and element type,
/// f32 or f64.
struct ParameterUpdate {
  mlir::Value parameter, gradient;
  /// In the order of `Optimizer::moments`; replaced by their next values.
  llvm::SmallVector<mlir::Value> moments;
  /// Whether weight decay applies.
  bool decays;
};

/// One optimizer in one training step.
class Optimizer {
public:
  virtual ~Optimizer() = default;

  /// The names of all optimizers.
  static llvm::ArrayRef<llvm::StringLiteral> getNames();
  /// The optimizer with the name; null if there is none.
  static std::unique_ptr<Optimizer> create(llvm::StringRef name);

  virtual llvm::ArrayRef<Hyperparameter> hyperparameters() const = 0;

  /// Returns the suffixes of the states of a parameter's moments; they start as
  /// zero.
  virtual llvm::ArrayRef<llvm::StringLiteral> moments() const = 0;

  /// Builds the scalars that all updates share. `step` is the number of this
  /// step from 1, in f64.
  virtual void buildScalars(Arithmetic a, const Hyperparameters &hyper,
                            mlir::Value step) = 0;

  /// Builds the update; returns the parameter's next value.
  virtual mlir::Value buildUpdate(Arithmetic a, ParameterUpdate &update) = 0;
};

/// Returns the sum of the squares of all elements: a reduction, of a scalar
/// too.
mlir::Value sumSquares(Arithmetic a, mlir::Value x);

} // namespace ingot

#endif // INGOT_PASSES_AUTODIFF_OPTIMIZERS_H
