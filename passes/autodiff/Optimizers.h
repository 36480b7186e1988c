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

/// A state that an optimizer keeps for a parameter.
struct Moment {
  llvm::StringRef name;
  llvm::SmallVector<int64_t> shape;
};

/// A parameter as an optimizer sees it before it accepts it.
struct TrainedParameter {
  mlir::RankedTensorType type;
  /// Rows of it are looked up, or it is added, as those of positions are.
  bool isEmbedding;
  /// Its product reaches the loss through no other product with a parameter.
  bool isHead;
};

/// One parameter at its update. All tensors have one element type, f32 or f64;
/// parameter and gradient have one shape.
struct ParameterUpdate {
  /// For ops that are not arithmetic.
  mlir::OpBuilder &builder;
  mlir::Value parameter, gradient;
  /// In the order of `Optimizer::getMoments`; replaced by their next values.
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
  /// The optimizers with the name: each parameter has the first that accepts
  /// it. The last one accepts all. None if no optimizer has the name.
  static llvm::SmallVector<std::unique_ptr<Optimizer>>
  create(llvm::StringRef name);

  /// The optimizer's own name.
  virtual llvm::StringRef getName() const = 0;

  virtual llvm::ArrayRef<Hyperparameter> hyperparameters() const = 0;

  virtual bool accepts(const TrainedParameter &) const { return true; }

  /// Returns the suffixes of the states of moments that have the parameter's
  /// shape.
  virtual llvm::ArrayRef<llvm::StringLiteral> moments() const = 0;

  /// Returns the moments of a parameter; they start as zero.
  virtual llvm::SmallVector<Moment>
  getMoments(mlir::RankedTensorType parameter) const;

  /// Why an update needs the whole parameter and gradient; empty if it can be
  /// computed shard by shard.
  virtual llvm::StringRef needsWhole() const { return {}; }

  /// Why moments cannot be decoded and encoded block by block; empty if they
  /// can.
  virtual llvm::StringRef whyNotInBlocks() const { return needsWhole(); }

  /// Whether codes of a moment have a sign. Only means of squares beside those
  /// of gradients have none, as in bitsandbytes.
  virtual bool hasSign(llvm::StringRef moment) const {
    return moment != "exp_avg_sq";
  }

  /// Returns the suffixes of f64 scalars that updates share and that each step
  /// replaces; they start as zero.
  virtual llvm::ArrayRef<llvm::StringLiteral> accumulators() const {
    return {};
  }
  /// Replaces the accumulators by their values of this step. Precedes
  /// `buildScalars`.
  virtual void accumulate(Arithmetic, const Hyperparameters &,
                          mlir::Value /*step*/,
                          llvm::MutableArrayRef<mlir::Value>) {}

  /// Builds the scalars that all updates share. `step` is the number of this
  /// step from 1, in f64.
  virtual void buildScalars(Arithmetic a, const Hyperparameters &hyper,
                            mlir::Value step) = 0;

  /// Builds the update; returns the parameter's next value.
  virtual mlir::Value buildUpdate(Arithmetic a, ParameterUpdate &update) = 0;

  /// Builds the weights that gradients are computed at from the parameter and
  /// its moments; null if they are the parameter.
  virtual mlir::Value
  buildPoint(Arithmetic, const Hyperparameters &, mlir::Value /*parameter*/,
             llvm::ArrayRef<mlir::Value> /*moments*/) const {
    return {};
  }
};

/// Returns the sum of the squares of all elements: a reduction, of a scalar
/// too.
mlir::Value sumSquares(Arithmetic a, mlir::Value x);

} // namespace ingot

#endif // INGOT_PASSES_AUTODIFF_OPTIMIZERS_H
