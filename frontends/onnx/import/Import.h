// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The ONNX frontend, which imports a model file as an `ingot` module with
// @forward.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_IMPORT_IMPORT_H
#define INGOT_FRONTENDS_ONNX_IMPORT_IMPORT_H

#include "frontends/onnx/options/Dims.h"
#include "frontends/onnx/options/Values.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <optional>
#include <string>
#include <vector>

namespace ingot::onnx_import {

struct ImportOptions {
  /// The size of the first dimension of every data input, overriding a fixed
  /// one.
  std::optional<int64_t> batch;
  /// Sizes of symbolic dimensions by name. For several sizes the module is one
  /// of modules, a variant for each combination, named after its sizes.
  DimSizes dims;
  /// Values of inputs that become constants: sizes, numbers of repetitions and
  /// the like, which operators may need to know.
  InputValues values;
  /// Regular expressions (POSIX extended, found anywhere in the name) of the
  /// parameters that are trained, and of those that are not; empty means that
  /// the model decides. `freeze` wins. A frozen running statistic makes its
  /// batch norm use it instead of updating it.
  std::string trainable, freeze;
  /// How loops of a known number of iterations are imported: `rolled`, as one
  /// op where that is possible, `unrolled`, one iteration after the other, or
  /// `auto`, as their size decides.
  std::string loops = "auto";
  /// Splits the parameters that the exporter merged with others.
  bool untie = false;
  /// Files that ONNX Runtime training generates beside its training model: the
  /// parameters, and the optimizer. Empty for a model of another kind.
  std::string checkpoint, optimizerModel;
};

/// The model file without the bytes of its states, so that a trainer can write
/// the model with trained weights: each segment is literal bytes followed by
/// the bytes of a state (row-major, little endian), which may be none at the
/// end.
struct ExportTemplate {
  struct Segment {
    /// The number of bytes of `literal` that come next.
    int64_t literalBytes;
    /// The state whose bytes follow; empty after the last literal bytes.
    std::string state;
  };
  /// The literal bytes of all segments.
  std::string literal;
  std::vector<Segment> segments;
  /// The names of classes that the model's metadata have, as a list in JSON.
  /// They are no part of the literal bytes: trainers write them.
  std::string classes;
  /// The reason why the model cannot be exported; empty if it can.
  std::string obstacle;
};

struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ExportTemplate exportTemplate;
  /// The files beside the model from which weights were read.
  std::vector<std::string> externalFiles;
};

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

#endif // INGOT_FRONTENDS_ONNX_IMPORT_IMPORT_H
