// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The interpreter of functions of `ingot` ops: slow, and written such that its
// correctness is obvious. It shares no code with the compiler's output, so that
// it can be the oracle of every pass.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_REFERENCE_INTERPRETER_H
#define INGOT_DIALECTS_REFERENCE_INTERPRETER_H

#include "dialects/reference/Tensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ingot::reference {

/// Returns the results of the function for these arguments. Fails, naming the
/// op and the reason, on unsupported ops and on arguments of other types.
llvm::Expected<std::vector<Tensor>> evaluate(mlir::func::FuncOp function,
                                             std::vector<Tensor> arguments);

/// Returns the results of all ranks, which run the function together, each on
/// its arguments.
llvm::Expected<std::vector<std::vector<Tensor>>>
evaluateRanks(mlir::func::FuncOp function,
              std::vector<std::vector<Tensor>> arguments);

/// Returns the results of one op (not a call or a fusion) for these operands,
/// whose types are those of the op.
llvm::Expected<llvm::SmallVector<Tensor>>
evaluateOp(mlir::Operation *op, llvm::ArrayRef<const Tensor *> operands);

/// Returns whether the interpreter supports the op.
bool isKnown(llvm::StringRef opName);

} // namespace ingot::reference

#endif // INGOT_DIALECTS_REFERENCE_INTERPRETER_H
