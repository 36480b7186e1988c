// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Finds the values that a function derives from states only, such as parameters
// in another type or layout. They are not needed before their first reader.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_ANALYSIS_STATEONLY_H
#define INGOT_DIALECTS_INGOT_ANALYSIS_STATEONLY_H

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace ingot {

/// Returns the ops, except views, that read only states or each other's
/// results.
llvm::DenseSet<mlir::Operation *> findStateOnlyOps(mlir::func::FuncOp function);

/// Returns whether the bucket is all-gathered from states that ranks have
/// shards of: it can be gathered at any time, and more than once.
bool gathersStates(BucketEnd end);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_ANALYSIS_STATEONLY_H
