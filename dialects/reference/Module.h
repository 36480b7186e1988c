//===----------------------------------------------------------------------===//
//
// Runs a module's functions as a trainer would: arguments by name, state from
// the module's `ingot.state` symbols and back.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_REFERENCE_MODULE_H
#define INGOT_DIALECTS_REFERENCE_MODULE_H

#include "dialects/reference/Interpreter.h"
#include "dialects/reference/Tensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <map>
#include <string>

namespace ingot::reference {

/// Tensors under their names, in the order they were added.
using NamedTensors =
    llvm::MapVector<std::string, Tensor, std::map<std::string, unsigned>>;

/// The initial value of every `ingot.state` of the module.
llvm::Expected<NamedTensors> initialStates(mlir::ModuleOp module);

/// Gives the states that follow others, `of` which they are copies or halves,
/// their values.
llvm::Error refreshCopies(mlir::ModuleOp module, NamedTensors &states);

/// The name of an argument that is no state: its `ingot.name`, or `argN`.
std::string argumentName(mlir::func::FuncOp function, unsigned index);

/// The name of a result that is no state: its `ingot.name`, the parameter's
/// name and `.grad` for a gradient, or `resultN`.
std::string resultName(mlir::func::FuncOp function, unsigned index);

/// The arguments that the caller has to give: neither states nor with a
/// default.
std::vector<std::string> requiredInputs(mlir::func::FuncOp function);

/// Gives a function's results on arguments: the interpreter, or what is
/// compared with it.
using Evaluator = llvm::function_ref<llvm::Expected<std::vector<Tensor>>(
    mlir::func::FuncOp, std::vector<Tensor>)>;

/// Runs the function once. Each argument is a state, the input of its name, or
/// its default (hyperparameters; the whole batch for `valid`). Inputs are
/// converted to the argument's element type. Replaces updated states in
/// `states`, returns the other results by name.
llvm::Expected<NamedTensors> runByName(mlir::func::FuncOp function,
                                       const NamedTensors &inputs,
                                       NamedTensors &states,
                                       Evaluator evaluator = evaluate);

/// The same for ranks that run the function together, each on its inputs; the
/// results are rank 0's. Fails if ranks end with different states, but for
/// residuals: those of rank 2 are called `NAME@2` in `states`.
llvm::Expected<NamedTensors> runRanksByName(mlir::func::FuncOp function,
                                            llvm::ArrayRef<NamedTensors> inputs,
                                            NamedTensors &states);

/// Calls the function, which has no arguments and returns pairs of an actual
/// and an expected tensor, and compares each pair: by bits (every NaN equals
/// every other), or within the function's `ingot.tolerance` relative to the
/// larger of 1 and the expected magnitude. `leeway`, where it is larger, is
/// used instead for its type of elements. Returns a line per difference.
llvm::Expected<std::vector<std::string>> runExpectations(
    mlir::func::FuncOp function, Evaluator evaluator = evaluate,
    llvm::function_ref<double(mlir::Type)> leeway = [](mlir::Type) {
      return 0.0;
    });

} // namespace ingot::reference

#endif // INGOT_DIALECTS_REFERENCE_MODULE_H
