// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Reads the checkpoint of ONNX Runtime training: parameters, the optimizer's
// state, and properties. The file is untrusted: it is verified as a whole
// before anything is read from it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_TRAINING_TRAININGCHECKPOINT_H
#define INGOT_FRONTENDS_ONNX_TRAINING_TRAININGCHECKPOINT_H

#include "mlir/IR/Location.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>
#include <vector>

namespace ingot::onnx_import {

/// The state of one optimizer: its moments by parameter, in the order of the
/// file.
struct CheckpointGroup {
  std::string name;
  /// The number of steps taken.
  int64_t step = 0;
  float initialLearningRate = 0;
  std::vector<std::pair<std::string, std::vector<onnx::TensorProto>>> moments;
};

/// A checkpoint in memory. Tensors have raw data of the size that their
/// dimensions say.
struct Checkpoint {
  /// The parameters, which have different names.
  std::vector<onnx::TensorProto> trained, frozen;
  std::vector<CheckpointGroup> groups;
  /// The properties that the user stored, as text.
  std::vector<std::pair<std::string, std::string>> properties;

  /// Returns the parameter with the name; null if there is none.
  const onnx::TensorProto *find(llvm::StringRef name) const;
};

/// Reads the file. `where` is the location of errors.
llvm::FailureOr<Checkpoint> readCheckpoint(llvm::StringRef path,
                                           mlir::Location where);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_TRAINING_TRAININGCHECKPOINT_H
