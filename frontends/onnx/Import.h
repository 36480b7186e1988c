// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The ONNX frontend, which imports a model file as an `ingot` module with
// @forward.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_IMPORT_H
#define INGOT_FRONTENDS_ONNX_IMPORT_H

#include "frontends/onnx/import/ImportedModel.h"
#include "frontends/onnx/options/ImportOptions.h"
#include <string>
#include <vector>

namespace ingot::onnx_import {

/// Imports the model at `path`. On failure, diagnostics say where, what and, in
/// a note, what to do (see dialects/ingot/ir/Diagnostics.h). Loads the ingot
/// and func dialects into the context.
llvm::FailureOr<ImportedModel> importOnnx(llvm::StringRef path,
                                          const ImportOptions &options,
                                          mlir::MLIRContext &context);

/// Returns the operators that are imported, as `Relu` or `domain::Name`,
/// sorted.
std::vector<std::string> supportedOperators();

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_IMPORT_H
