// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The files that ONNX Runtime training makes of a model, and what they say in
// the terms of a training step: which values are the loss and the gradients,
// which optimizer follows, and what is evaluated.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_TRAINING_ARTIFACTS_H
#define INGOT_FRONTENDS_ONNX_TRAINING_ARTIFACTS_H

#include "frontends/onnx/training/TrainingCheckpoint.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"
#include <optional>

namespace ingot::onnx_import {

/// The names of values with a meaning in a graph that holds its backward pass.
struct TrainingGraph {
  /// The loss, a scalar.
  std::string loss;
  /// The initializer 1 from which gradients start; empty if there is none.
  std::string cotangent;
  /// Each parameter with the value that is its gradient, in the order of the
  /// checkpoint.
  std::vector<std::pair<std::string, std::string>> gradients;
};

/// The parts of a graph without a backward pass that evaluations need.
struct EvaluationGraph {
  /// The outputs of the model that the loss is computed from, and other outputs
  /// that do not depend on labels.
  std::vector<std::string> predictions;
  /// The inputs that only the loss reads.
  std::vector<std::string> labels;
  /// The loss as the option `loss` names it.
  std::string loss;
};

/// Returns whether the model is one that ONNX Runtime trains: it accumulates
/// gradients in buffers.
bool accumulatesGradients(const onnx::ModelProto &model);

/// Rewrites a training model of ONNX Runtime: parameters become initializers,
/// with the checkpoint's values; the buffers that accumulate gradients, and the
/// flag that resets them, disappear.
llvm::FailureOr<TrainingGraph> readTrainingGraph(mlir::Location file,
                                                 onnx::ModelProto &model,
                                                 const Checkpoint &checkpoint);

/// Returns the name of the evaluation model beside a training model; empty if
/// the name is not one that ONNX Runtime gives.
std::string evaluationModelPath(llvm::StringRef trainingModel);

/// Rewrites an evaluation model: parameters become initializers. What the loss
/// is computed from follows from the names that ONNX Runtime's loss blocks give
/// their nodes.
llvm::FailureOr<EvaluationGraph>
readEvaluationGraph(mlir::Location file, onnx::ModelProto &model,
                    const Checkpoint &checkpoint);

/// Reduces the model to what its predictions need.
void keepPredictions(const EvaluationGraph &evaluation,
                     onnx::ModelProto &model);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_TRAINING_ARTIFACTS_H
