// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Finds the values that a function derives from states only, such as parameters
// in another type or layout. They are not needed before their first reader.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_ANALYSIS_STATEONLY_H
#define INGOT_DIALECTS_INGOT_ANALYSIS_STATEONLY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace ingot {

/// Returns the ops, except views, that read only states or each other's
/// results.
llvm::DenseSet<mlir::Operation *> findStateOnlyOps(mlir::func::FuncOp function);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_ANALYSIS_STATEONLY_H
