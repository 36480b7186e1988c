// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Runs the functions of a module as a trainer would: arguments are passed by
// name, and states are read from and written to the module's `ingot.state`
// symbols.
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

/// Tensors by name, in the order in which they were added.
using NamedTensors =
    llvm::MapVector<std::string, Tensor, std::map<std::string, unsigned>>;

/// Returns the initial value of every `ingot.state` of the module.
llvm::Expected<NamedTensors> initialStates(mlir::ModuleOp module);

/// Updates the states that are derived from others (`of`): copies and halves.
llvm::Error refreshCopies(mlir::ModuleOp module, NamedTensors &states);

/// Returns the name of an argument that is not a state: its `ingot.name`, or
/// `argN`.
std::string argumentName(mlir::func::FuncOp function, unsigned index);

/// Returns the name of a result that is not a state: its `ingot.name`, the
/// parameter's name and `.grad` for a gradient, or `resultN`.
std::string resultName(mlir::func::FuncOp function, unsigned index);

/// Returns the arguments that the caller has to pass: those that are not states
/// and have no default.
std::vector<std::string> requiredInputs(mlir::func::FuncOp function);

/// Computes the results of a function: the interpreter, or an implementation
/// that is compared with it.
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

/// Runs the function on several ranks together, each with its inputs; the
/// results are those of rank 0. Fails if the final states of ranks differ,
/// except for residuals: those of rank 2 are called `NAME@2` in `states`.
llvm::Expected<NamedTensors> runRanksByName(mlir::func::FuncOp function,
                                            llvm::ArrayRef<NamedTensors> inputs,
                                            NamedTensors &states);

/// Calls the function, which has no arguments and returns pairs of an actual
/// and an expected tensor, and compares each pair: by bits (every NaN equals
/// every other), or within the function's `ingot.tolerance` relative to the
/// larger of 1 and the expected magnitude. `leeway`, where it is larger,
/// replaces the tolerance for its element type. Returns one line per
/// difference.
llvm::Expected<std::vector<std::string>> runExpectations(
    mlir::func::FuncOp function, Evaluator evaluator = evaluate,
    llvm::function_ref<double(mlir::Type)> leeway = [](mlir::Type) {
      return 0.0;
    });

} // namespace ingot::reference

#endif // INGOT_DIALECTS_REFERENCE_MODULE_H
