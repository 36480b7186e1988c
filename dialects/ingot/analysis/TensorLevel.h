// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The precondition of passes over values: a function in which every value is a
// tensor, as it is until its step is placed.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_ANALYSIS_TENSORLEVEL_H
#define INGOT_DIALECTS_INGOT_ANALYSIS_TENSORLEVEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ingot {

/// Succeeds if the function consists of one block that ends in a return, and
/// its arguments and the results of its ops are tensors of static shapes;
/// otherwise emits an error, which names the pass that requires it.
mlir::LogicalResult verifyTensorLevel(mlir::func::FuncOp function,
                                      llvm::StringRef pass);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_ANALYSIS_TENSORLEVEL_H
