// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Reads a model: parsing, external data, checking, inlining. All of this treats
// the file as untrusted.
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

/// The oldest opset of the default domain that is supported.
inline constexpr int kOldestOpset = 7;

/// Parses the file and loads external data.
/// `external` gets the paths of the files with such data.
llvm::LogicalResult readModel(llvm::StringRef path, mlir::Location file,
                              onnx::ModelProto &model,
                              std::vector<std::string> &external);

/// Returns the version of a domain's operator set; 0 if the model does not
/// import it.
int opsetVersion(const onnx::ModelProto &model, llvm::StringRef domain);

/// Returns the newest version of the default domain that is known.
int newestOpset();

/// Returns true for operators whose graphs (branches, bodies of loops) are
/// imported in their place.
bool hasBody(const onnx::NodeProto &node);

/// Inlines the functions that the model defines.
llvm::LogicalResult inlineFunctions(mlir::Location file,
                                    onnx::ModelProto &model);

/// Checks versions and the model against the operators' schemas, inlines the
/// model's functions, and names all operators that are not supported in one
/// error.
llvm::LogicalResult prepareModel(mlir::Location file, onnx::ModelProto &model);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_MODEL_MODELFILE_H
