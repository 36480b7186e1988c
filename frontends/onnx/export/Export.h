// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The model file without the bytes of its states, for the export of trained
// models.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_EXPORT_EXPORT_H
#define INGOT_FRONTENDS_ONNX_EXPORT_EXPORT_H

#include "frontends/onnx/export/ExportTemplate.h"
#include "mlir/IR/Location.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/StringSet.h"

namespace ingot::onnx_import {

/// Stores the elements of every floating-point initializer as raw data. Fails,
/// with an error at `where`, if one is damaged.
llvm::LogicalResult storeRaw(mlir::Location where, onnx::ModelProto &model);

/// Removes the entry of the model's metadata that has names of classes, and
/// returns it; empty if there is none that is a list of names.
std::string takeClasses(onnx::ModelProto &model);

/// Returns the model as bytes, after `storeRaw`; empty if it is too large for
/// one file.
std::string serializeForExport(const onnx::ModelProto &model);

/// Removes the bytes of the initializers that are states from a model that
/// `serializeForExport` wrote.
ExportTemplate makeExportTemplate(const std::string &model,
                                  const llvm::StringSet<> &states);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_EXPORT_EXPORT_H
