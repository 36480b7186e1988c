// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The role of each initializer: trained, updated by the forward pass, frozen,
// or a constant.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_WEIGHTS_PARAMETERS_H
#define INGOT_FRONTENDS_ONNX_WEIGHTS_PARAMETERS_H

#include "dialects/ingot/ir/Dialect.h"
#include "frontends/onnx/options/ImportOptions.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <map>

namespace ingot::onnx_import {

/// The metadata of PyTorch's exporter about the program that it exported.
struct ExporterMetadata {
  /// The parameters by the name that the exporter's graph uses (`p_fc_weight`),
  /// as listed in the signature: their names in the module (`fc.weight`).
  std::map<std::string, std::string> parameters;
  /// The names of values that are parameters.
  llvm::StringSet<> parameterNames;
  /// Returns true if the metadata describes parameters.
  bool exists = false;
};

ExporterMetadata readMetadata(const onnx::GraphProto &graph);

/// Keeps the names that the regular expression of `--trainable` matches. Fails
/// on an invalid one.
llvm::LogicalResult keepTrainable(const ImportOptions &options,
                                  llvm::StringSet<> &names,
                                  mlir::MLIRContext *context);

/// Returns the roles of the initializers that become states; the others are
/// constants. Fails on an invalid regular expression.
llvm::FailureOr<llvm::StringMap<Role>>
classifyInitializers(const onnx::GraphProto &graph,
                     const ExporterMetadata &metadata,
                     const ImportOptions &options, mlir::MLIRContext *context);

/// A use of a parameter that the exporter merged with another of equal value:
/// input `input` of node `node` reads `standIn`.
struct MergedUse {
  std::string parameter;
  int node, input;
  std::string standIn;
};

/// The parameters of the exported program that the file lacks.
struct LostParameters {
  std::vector<MergedUse> merged;
  /// Replaced by values that are no parameters.
  std::vector<std::string> anonymous;
};

/// Compares the file with the program that its nodes quote.
LostParameters findLostParameters(const onnx::GraphProto &graph,
                                  const ExporterMetadata &metadata);

/// Warns, once each, about rewrites of exporters that break training: batch
/// norm folded into convolutions, parameters merged or replaced by constants.
void warnOfExport(mlir::Location file, const onnx::GraphProto &graph,
                  const ExporterMetadata &metadata);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_WEIGHTS_PARAMETERS_H
