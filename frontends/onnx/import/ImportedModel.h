// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The result of importing a model.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_IMPORT_IMPORTEDMODEL_H
#define INGOT_FRONTENDS_ONNX_IMPORT_IMPORTEDMODEL_H

#include "frontends/onnx/export/ExportTemplate.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>
#include <vector>

namespace ingot::onnx_import {

struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ExportTemplate exportTemplate;
  /// The files beside the model from which weights were read.
  std::vector<std::string> externalFiles;
};

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_IMPORT_IMPORTEDMODEL_H
