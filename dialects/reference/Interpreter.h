//===----------------------------------------------------------------------===//
//
// Runs functions of `ingot` ops: slow, and written to be seen to be right. It
// shares no code with what the compiler emits, so that it can be the oracle of
// every pass.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_REFERENCE_INTERPRETER_H
#define INGOT_DIALECTS_REFERENCE_INTERPRETER_H

#include "dialects/reference/Tensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ingot::reference {

/// The results of the function on these arguments. Fails, saying which op and
/// why, on ops that it does not know, and on arguments of other types.
llvm::Expected<std::vector<Tensor>> evaluate(mlir::func::FuncOp function,
                                             std::vector<Tensor> arguments);

/// The same for ranks that run the function together, each on its arguments.
llvm::Expected<std::vector<std::vector<Tensor>>>
evaluateRanks(mlir::func::FuncOp function,
              std::vector<std::vector<Tensor>> arguments);

/// The results of one computation (not a call or a fusion) on these operands,
/// which have the types that the op says.
llvm::Expected<llvm::SmallVector<Tensor>>
evaluateOp(mlir::Operation *op, llvm::ArrayRef<const Tensor *> operands);

/// Whether the interpreter knows the op.
bool isKnown(llvm::StringRef opName);

} // namespace ingot::reference

#endif // INGOT_DIALECTS_REFERENCE_INTERPRETER_H
