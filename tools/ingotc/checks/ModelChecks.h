// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Checks of a model beyond those of passes on a module: that the trainer could
// start, and that options name something in it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_CHECKS_MODELCHECKS_H
#define INGOT_TOOLS_INGOTC_CHECKS_MODELCHECKS_H

#include "mlir/IR/BuiltinOps.h"
#include "tools/ingotc/options/CompilerOptions.h"

namespace ingot {

/// Throws a runtime::Error if the options leave no parameter of the imported
/// module to train.
void checkTrainable(mlir::ModuleOp module, const CompilerOptions &options);

/// Throws a runtime::Error if a regular expression of the options finds no name
/// in the imported module, or if --remat decides about a node in two ways.
void checkNames(mlir::ModuleOp module, const CompilerOptions &options);

/// Throws a runtime::Error unless a trainer can feed the imported module's
/// inputs: each has a first dimension that counts samples.
void checkInputs(mlir::ModuleOp module, const CompilerOptions &options);

/// Throws a runtime::Error unless a trainer can feed the labels of the placed
/// steps.
void checkLabels(mlir::ModuleOp module);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_CHECKS_MODELCHECKS_H
