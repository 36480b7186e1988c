// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Access to the initial values of states for weights files, manifests and the
// interpreter.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_STATES_H
#define INGOT_DIALECTS_INGOT_IR_STATES_H

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <utility>

namespace ingot {

/// Adds states to a module.
class StateAdder {
public:
  explicit StateAdder(mlir::ModuleOp module);

  /// Adds a state with every element `value` after all others of the module.
  /// The symbol is `name`, made unique.
  mlir::FlatSymbolRefAttr add(llvm::StringRef name, Role role,
                              mlir::RankedTensorType type, double value = 0);

  /// Returns the state of the name; null if there is none.
  StateOp find(llvm::StringRef name) const;

private:
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  StateOp last;
};

/// Adds one state.
mlir::FlatSymbolRefAttr addState(mlir::ModuleOp module, llvm::StringRef name,
                                 Role role, mlir::RankedTensorType type,
                                 double value = 0);

/// Returns the value of all elements if they are equal.
std::optional<double> splatValue(StateOp state);

/// Returns the bytes of the elements: row-major, little endian, one byte per
/// boolean. Refers to the attribute's memory if that has this layout, else to
/// `storage`.
llvm::StringRef stateBytes(StateOp state, std::string &storage);

/// Returns the norms of the rows of a matrix of floats, or of its columns. A
/// row has the elements of one index of the first dimension.
std::vector<double> normsOf(StateOp state, bool ofColumns);

/// Returns the mean and the standard deviation of the elements of a
/// floating-point state.
std::pair<double, double> momentsOf(StateOp state);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_IR_STATES_H
