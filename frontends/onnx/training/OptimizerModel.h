// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The optimizer model of ONNX Runtime training: one node that updates all
// parameters, after one that clips gradients or not.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_TRAINING_OPTIMIZERMODEL_H
#define INGOT_FRONTENDS_ONNX_TRAINING_OPTIMIZERMODEL_H

#include "mlir/IR/Location.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace ingot::onnx_import {

/// An optimizer in the terms of --ingot-apply-optimizer.
struct GivenOptimizer {
  /// One of the names of `--optimizer`; empty without an optimizer.
  std::string name;
  /// Hyperparameters with their defaults; `clip_norm` if gradients are clipped.
  llvm::SmallVector<std::pair<std::string, double>> hyperparameters;
  /// The names that a parameter's moments have after it, in the order of the
  /// optimizer's inputs.
  llvm::SmallVector<std::string> moments;
};

/// Returns the number that has the shortest decimal form of all that round to
/// the float: 0.9 rather than 0.89999998.
double shortestDecimal(float value);

/// Reads the optimizer from its model.
llvm::FailureOr<GivenOptimizer>
readOptimizerModel(mlir::Location file, const onnx::ModelProto &model);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_TRAINING_OPTIMIZERMODEL_H
