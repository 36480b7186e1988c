//===----------------------------------------------------------------------===//
//
// What a function computes from states alone: parameters in another type or
// order, which have to be there no earlier than what reads them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_ANALYSIS_STATEONLY_H
#define INGOT_DIALECTS_INGOT_ANALYSIS_STATEONLY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace ingot {

/// The ops, views aside, that read states, or each other's results, and nothing
/// else.
llvm::DenseSet<mlir::Operation *> findStateOnlyOps(mlir::func::FuncOp function);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_ANALYSIS_STATEONLY_H
