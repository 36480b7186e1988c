// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Loads a module from a file, and selects a function in it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOT_EVAL_LOAD_H
#define INGOT_TOOLS_INGOT_EVAL_LOAD_H

#include "frontends/onnx/Import.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

/// Reads `path`: ONNX if it ends in .onnx, else MLIR; `-` is standard input.
/// Returns null after diagnostics have been emitted.
mlir::OwningOpRef<mlir::ModuleOp>
loadModule(const std::string &path,
           const ingot::onnx_import::ImportOptions &options,
           mlir::MLIRContext &context);

/// Returns the function called `name`; if that is empty, @forward or the only
/// one. Throws ingot::runtime::Error.
mlir::func::FuncOp findFunction(mlir::ModuleOp module, const std::string &name);

#endif // INGOT_TOOLS_INGOT_EVAL_LOAD_H
