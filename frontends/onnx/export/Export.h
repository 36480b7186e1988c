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

/// The most bytes of a model in one file: protobuf's limit.
inline constexpr uint64_t kMostModelBytes = (uint64_t(1) << 31) - 1;

/// A model as it is exported.
struct SerializedModel {
  /// The model without the initializers below; empty if it is too large.
  std::string bytes;
  /// Floating-point initializers without their data, which is in a file beside
  /// the model.
  std::vector<onnx::TensorProto> external;
  bool isExternal = false;
};

/// Returns the model as bytes, after `storeRaw`; above `most` bytes with large
/// initializers in a file of their own. The model is the same afterwards.
SerializedModel serializeForExport(onnx::ModelProto &model, uint64_t most);

/// Removes the bytes of the initializers that are states from a model that
/// `serializeForExport` wrote.
ExportTemplate makeExportTemplate(const SerializedModel &model,
                                  const llvm::StringSet<> &states);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_EXPORT_EXPORT_H
