// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The path of the module of the source program that an op belongs to, such as
// `model.layers.0.self_attn.q_proj`, as locations carry it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_SUPPORT_MODULEPATH_H
#define INGOT_DIALECTS_INGOT_SUPPORT_MODULEPATH_H

#include "mlir/IR/Location.h"

#include <string>

namespace ingot {

/// Returns the location of a node in a module: its name, and below it the path.
mlir::Location makeNodeLocation(mlir::MLIRContext *context,
                                llvm::StringRef node, llvm::StringRef module);

/// Returns the path of the first node of a location that has one; empty if none
/// has.
llvm::StringRef getModulePath(mlir::Location location);

/// Returns the path of a layer: that of its location, else the name of its
/// weight without `.weight`, else the name of its node, whose parts `/`
/// separates. The name of its bias, which may be empty, tells what comes before
/// the path in that: modules that are called by others than their parents have
/// it not.
std::string findLayerPath(mlir::Location location, llvm::StringRef weight,
                          llvm::StringRef bias = "");

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_SUPPORT_MODULEPATH_H
