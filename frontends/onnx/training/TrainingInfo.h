// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Models with training information (TrainingInfoProto): the algorithm of a
// step, which values replace which initializers after it, and how initializers
// start.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_TRAINING_TRAININGINFO_H
#define INGOT_FRONTENDS_ONNX_TRAINING_TRAININGINFO_H

#include "frontends/onnx/training/Artifacts.h"
#include "frontends/onnx/training/OptimizerModel.h"

namespace ingot::onnx_import {

/// Training information of an ONNX file, in the terms of a training step.
struct TrainingInfo {
  /// The model's graph and the algorithm together, without the optimizer.
  onnx::ModelProto step;
  TrainingGraph training;
  GivenOptimizer optimizer;
  /// The moments and the number of steps from which training starts.
  CheckpointGroup group;
  /// The model's outputs and its loss.
  onnx::ModelProto evaluationModel;
  EvaluationGraph evaluation;
};

/// Reads the training information of a model. Recognizes updates by Momentum,
/// Adagrad and Adam of ai.onnx.preview.training, and by X - R * G; fails, with
/// an error that names the initializer, on others.
llvm::FailureOr<TrainingInfo> readTrainingInfo(mlir::Location file,
                                               const onnx::ModelProto &model);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_TRAINING_TRAININGINFO_H
