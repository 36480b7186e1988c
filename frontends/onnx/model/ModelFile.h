// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Reads a model file and its external data. Both are untrusted.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_MODEL_MODELFILE_H
#define INGOT_FRONTENDS_ONNX_MODEL_MODELFILE_H

#include "mlir/IR/Location.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace ingot::onnx_import {

/// Parses the file and loads external data; large tensors are mapped within a
/// MappedDataScope. `external` gets the paths of the files with such data.
/// If `leavesOut`, initializers of floats may have no data (leaveOutData()).
llvm::LogicalResult readModel(llvm::StringRef path, mlir::Location file,
                              onnx::ModelProto &model,
                              std::vector<std::string> &external,
                              bool leavesOut);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_MODEL_MODELFILE_H
