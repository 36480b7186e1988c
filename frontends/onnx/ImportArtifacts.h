// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Imports the artifacts of ONNX Runtime training as a module with @train_step,
// in the form that --ingot-differentiate gives it, and @forward for evaluation.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_IMPORTARTIFACTS_H
#define INGOT_FRONTENDS_ONNX_IMPORTARTIFACTS_H

#include "frontends/onnx/import/ImportedModel.h"
#include "frontends/onnx/options/ImportOptions.h"
#include "onnx/onnx_pb.h"

namespace ingot::onnx_import {

/// Imports the training model at `path`, which has been read, with the files
/// that the options name and the evaluation model beside it.
llvm::FailureOr<ImportedModel> importArtifacts(llvm::StringRef path,
                                               mlir::Location file,
                                               onnx::ModelProto &model,
                                               const ImportOptions &options);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_IMPORTARTIFACTS_H
