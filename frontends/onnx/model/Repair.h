// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Repairs of files that lack something or hold it twice: runtimes load them,
// and ONNX's checker does not.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_MODEL_REPAIR_H
#define INGOT_FRONTENDS_ONNX_MODEL_REPAIR_H

#include "mlir/IR/Location.h"
#include "onnx/onnx_pb.h"

namespace ingot::onnx_import {

/// Brings the model that was read to one form, which exports keep: domains and
/// their versions are stated, each tensor has one name and its values once, and
/// nodes are sorted. Warns of initializers of one name with different values.
llvm::LogicalResult repairModel(mlir::Location file, onnx::ModelProto &model);

/// Adds what the checker asks for and importing does not: names of graphs, and
/// types of outputs; and takes away what it refuses.
void satisfyChecker(onnx::ModelProto &model);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_MODEL_REPAIR_H
