//===----------------------------------------------------------------------===//
//
// What the arguments and results of a module's functions are: reading and
// changing the attributes that the dialect documents.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_SIGNATURE_H
#define INGOT_DIALECTS_INGOT_IR_SIGNATURE_H

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace ingot {

/// On a module whose functions come in variants, for several sizes of symbolic
/// dimensions: their names in order. The functions of the variant V are called
/// `train_step[V]` and so on.
inline constexpr llvm::StringLiteral kVariantsAttr = "ingot.variants";

/// `ingot.kind` of what the gradients of an imported training step start from.
inline constexpr llvm::StringLiteral kCotangentKind = "cotangent";

/// A function of one block, its arguments and results as the dialect documents
/// them. A view: cheap to copy, valid while the function is.
class Signature {
public:
  explicit Signature(mlir::func::FuncOp func) : func(func) {}

  mlir::func::FuncOp getFunction() const { return func; }
  mlir::Operation *getReturn() const {
    return func.getBody().front().getTerminator();
  }

  /// The symbol of the state that an argument or result carries; null if none.
  mlir::FlatSymbolRefAttr argumentState(unsigned index) const;
  mlir::FlatSymbolRefAttr resultState(unsigned index) const;
  /// The parameter whose gradient a result is; null if none.
  mlir::FlatSymbolRefAttr resultGradient(unsigned index) const;
  /// `ingot.name`, `ingot.kind`; empty if absent.
  llvm::StringRef argumentName(unsigned index) const;
  llvm::StringRef resultName(unsigned index) const;
  llvm::StringRef argumentKind(unsigned index) const;

  /// The argument that carries the state; null if none does.
  mlir::BlockArgument findArgument(mlir::FlatSymbolRefAttr state) const;
  /// The number of the first argument of the kind.
  std::optional<unsigned> findInput(llvm::StringRef kind) const;
  /// The number of the result with the name.
  std::optional<unsigned> findResult(llvm::StringRef name) const;
  /// Arguments before the first state: data, labels and the like.
  unsigned numInputs() const;

  /// Inserts an argument that is an input, after the other inputs.
  mlir::BlockArgument addInput(llvm::StringRef name, llvm::StringRef kind,
                               mlir::Type type) const;
  /// Appends an argument that carries the state.
  mlir::BlockArgument addState(mlir::FlatSymbolRefAttr state,
                               mlir::Type type) const;

  /// Erases ops whose results nobody needs, then the arguments for states that
  /// nothing uses.
  void eraseUnused() const;

private:
  /// Handles of ops have no const methods.
  mutable mlir::func::FuncOp func;
};

/// The results of a function while they are put together.
class ResultList {
public:
  /// The results with their attributes, as the function returns them now.
  static ResultList of(Signature signature);

  void addNamed(llvm::StringRef name, mlir::Value value);
  void addState(mlir::FlatSymbolRefAttr state, mlir::Value value);
  void addGradient(mlir::FlatSymbolRefAttr parameter, mlir::Value value);
  void add(mlir::Value value, mlir::DictionaryAttr attributes);

  bool hasGradients() const;

  /// Makes the function return these.
  void apply(Signature signature) const;

  struct Entry {
    mlir::Value value;
    mlir::DictionaryAttr attributes;

    mlir::FlatSymbolRefAttr state() const;
    mlir::FlatSymbolRefAttr gradient() const;
  };
  llvm::SmallVector<Entry> entries;
};

/// The function of the module with the name, if it has a body.
mlir::func::FuncOp findFunction(mlir::ModuleOp module, llvm::StringRef name);

/// The state of the module with the symbol; null if there is none.
StateOp findState(mlir::ModuleOp module, mlir::FlatSymbolRefAttr symbol);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_IR_SIGNATURE_H
