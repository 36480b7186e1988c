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
#include "llvm/ADT/StringMap.h"
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
  /// A place of the literal bytes where those of a floating-point initializer
  /// belong.
  struct Hole {
    size_t offset;
    std::string name;
    /// Empty for large data that the model has after its import, too.
    std::string data;
    /// The bytes of the initializer before its data, and of the data.
    size_t headBytes = 0, dataBytes = 0;
  };
  /// The model without the initializers below, with holes in this order.
  std::string literal;
  std::vector<Hole> holes;
  /// Floating-point initializers without their data, which is in a file beside
  /// the model.
  std::vector<onnx::TensorProto> external;
  bool isExternal = false;
  /// The bytes of the model before its graph, of the graph's tag and length,
  /// and of the graph without initializers, which comes last.
  size_t headerBytes = 0, graphHeadBytes = 0, restBytes = 0;
  /// Whether a file cannot hold it.
  bool isTooLarge = false;
};

/// Initializers that are parts of matrices in codes, by name.
using CodedParts = llvm::StringMap<CodedInitializer>;

/// Returns the model as bytes, after `storeRaw`; above `most` bytes with large
/// initializers in a file of their own. The model is the same afterwards.
SerializedModel serializeForExport(onnx::ModelProto &model, uint64_t most,
                                   const CodedParts &parts);

/// Fills the holes whose initializers are no states, with their data or
/// what the model has of it after its import.
ExportTemplate makeExportTemplate(const SerializedModel &serialized,
                                  const onnx::ModelProto &model,
                                  const llvm::StringSet<> &states,
                                  const CodedParts &parts);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_EXPORT_EXPORT_H
