//===----------------------------------------------------------------------===//
//
// Initial values of states: for weights files, manifests and the interpreter.
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

private:
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  StateOp last;
};

/// Adds one state.
mlir::FlatSymbolRefAttr addState(mlir::ModuleOp module, llvm::StringRef name,
                                 Role role, mlir::RankedTensorType type,
                                 double value = 0);

/// The value of all elements where they are one and the same number.
std::optional<double> splatValue(StateOp state);

/// The elements' bytes, row-major, little endian, booleans one byte each.
/// Refers to the attribute's memory where that has the layout, else to
/// `storage`.
llvm::StringRef stateBytes(StateOp state, std::string &storage);

/// Mean and standard deviation of a floating-point state's elements.
std::pair<double, double> momentsOf(StateOp state);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_IR_STATES_H
