// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Access to the arguments and results of a module's functions, and to the
// attributes that the dialect documents.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_SIGNATURE_H
#define INGOT_DIALECTS_INGOT_IR_SIGNATURE_H

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace ingot {

/// The `ingot.kind` of the input from which the gradients of an imported
/// training step start.
inline constexpr llvm::StringLiteral kCotangentKind = "cotangent";

/// A function with one block and the attributes that the dialect documents. It
/// is a view: cheap to copy, and valid as long as the function is.
class Signature {
public:
  explicit Signature(mlir::func::FuncOp func) : func(func) {}

  mlir::func::FuncOp getFunction() const { return func; }
  mlir::Operation *getReturn() const {
    return func.getBody().front().getTerminator();
  }

  /// Returns the symbol of the state that an argument or result carries, or of
  /// the memory of the loop whose body the function is; null if there is none.
  mlir::FlatSymbolRefAttr argumentState(unsigned index) const;
  mlir::FlatSymbolRefAttr resultState(unsigned index) const;
  /// Returns the parameter whose gradient a result is; null if there is none.
  mlir::FlatSymbolRefAttr resultGradient(unsigned index) const;
  /// Return `ingot.name` and `ingot.kind`; empty if absent.
  llvm::StringRef argumentName(unsigned index) const;
  llvm::StringRef resultName(unsigned index) const;
  llvm::StringRef argumentKind(unsigned index) const;

  /// Returns the argument that carries the state; null if none does.
  mlir::BlockArgument findArgument(mlir::FlatSymbolRefAttr state) const;
  /// Returns all arguments that carry states, by state.
  llvm::DenseMap<mlir::Attribute, mlir::BlockArgument> mapStates() const;
  /// Returns the number of the first argument of the kind.
  std::optional<unsigned> findInput(llvm::StringRef kind) const;
  /// Returns the number of the result with the name.
  std::optional<unsigned> findResult(llvm::StringRef name) const;
  /// Returns the number of arguments before the first state: data, labels and
  /// the like.
  unsigned numInputs() const;

  /// Reports an error if an input of the model has the name, which training
  /// gives to an input of its own: a hyperparameter, or which samples count.
  llvm::LogicalResult checkIsFree(llvm::StringRef name) const;
  /// Inserts an argument for an input after the other inputs.
  mlir::BlockArgument addInput(llvm::StringRef name, llvm::StringRef kind,
                               mlir::Type type) const;
  /// Appends an argument that carries the state.
  mlir::BlockArgument addState(mlir::FlatSymbolRefAttr state,
                               mlir::Type type) const;

  struct State {
    mlir::FlatSymbolRefAttr symbol;
    mlir::Type type;
  };
  /// Appends arguments that carry the states, which takes time in proportion to
  /// the number of all arguments.
  llvm::SmallVector<mlir::BlockArgument>
  addStates(llvm::ArrayRef<State> states) const;

  /// Erases ops whose results are not used, then the arguments for states that
  /// are not used.
  void eraseUnused() const;

private:
  /// Mutable, because handles of ops have no const methods.
  mutable mlir::func::FuncOp func;
};

/// A list in which the results of a function are assembled.
class ResultList {
public:
  /// Returns the current results of the function, with their attributes.
  static ResultList of(Signature signature);

  void addNamed(llvm::StringRef name, mlir::Value value);
  void addState(mlir::FlatSymbolRefAttr state, mlir::Value value);
  void addGradient(mlir::FlatSymbolRefAttr parameter, mlir::Value value);
  void add(mlir::Value value, mlir::DictionaryAttr attributes);

  bool hasGradients() const;

  /// Makes the function return these results.
  void apply(Signature signature) const;

  struct Entry {
    mlir::Value value;
    mlir::DictionaryAttr attributes;

    mlir::FlatSymbolRefAttr state() const;
    mlir::FlatSymbolRefAttr gradient() const;
  };
  llvm::SmallVector<Entry> entries;
};

/// Returns the function of the module with the name, if it has a body.
mlir::func::FuncOp findFunction(mlir::ModuleOp module, llvm::StringRef name);

/// Returns the function that is the body of a loop; null if there is none.
mlir::func::FuncOp findBody(RepeatOp op);

/// Returns the state of the module with the symbol; null if there is none.
StateOp findState(mlir::ModuleOp module, mlir::FlatSymbolRefAttr symbol);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_IR_SIGNATURE_H
