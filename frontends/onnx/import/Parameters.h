//===----------------------------------------------------------------------===//
//
// What each initializer is for: trained, updated by the forward pass, frozen,
// or simply a constant.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_IMPORT_PARAMETERS_H
#define INGOT_FRONTENDS_ONNX_IMPORT_PARAMETERS_H

#include "dialects/ingot/ir/Dialect.h"
#include "frontends/onnx/import/Import.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <map>

namespace ingot::onnx_import {

/// What PyTorch's exporter says about the program it exported.
struct ExporterMetadata {
  /// Parameters by the name that its graph uses (`p_fc_weight`), as listed in
  /// the signature: where they are in the module (`fc.weight`).
  std::map<std::string, std::string> parameters;
  /// Names of values that are parameters.
  llvm::StringSet<> parameterNames;
  /// True if it says anything about parameters.
  bool exists = false;
};

ExporterMetadata readMetadata(const onnx::GraphProto &graph);

/// Returns the roles of the initializers that become states; the others are
/// constants. Fails on an invalid regular expression.
llvm::FailureOr<llvm::StringMap<Role>>
classifyInitializers(const onnx::GraphProto &graph,
                     const ExporterMetadata &metadata,
                     const ImportOptions &options, mlir::MLIRContext *context);

/// Warns, once each, of what exporters do that breaks training: batch norm
/// folded into convolutions, parameters merged or replaced by constants.
void warnOfExport(mlir::Location file, const onnx::GraphProto &graph,
                  const ExporterMetadata &metadata);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_IMPORT_PARAMETERS_H
