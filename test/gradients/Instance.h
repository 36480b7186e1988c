// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// One random op in a function of its own, with arguments to evaluate it at.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_GRADIENTS_INSTANCE_H
#define INGOT_TEST_GRADIENTS_INSTANCE_H

#include "dialects/reference/Tensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "test/random-graphs/catalogue/Catalogue.h"

namespace ingot::testing {

/// Draws an op of the entry in a new function @f of a new module, which returns
/// the op's results.
class Instance {
public:
  Instance(mlir::MLIRContext &context, const Entry &entry, uint64_t seed,
           mlir::FloatType element);

  mlir::ModuleOp getModule() { return *module; }
  mlir::func::FuncOp getFunction() { return function; }
  mlir::Operation *getOp() { return op; }
  const std::vector<reference::Tensor> &getArguments() const {
    return arguments;
  }

  /// Argument number of operand `i` if it is a floating argument, else -1.
  int64_t getArgumentOf(unsigned i);

private:
  friend class Recorder;

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  mlir::Operation *op;
  std::vector<reference::Tensor> arguments;
};

/// A copy of the instance's function, and the op in it.
std::pair<mlir::func::FuncOp, mlir::Operation *>
copyFunction(Instance &from, llvm::StringRef name);

/// Lets the function return these values instead of what it did; its type
/// follows from them and the block's arguments.
void setResults(mlir::func::FuncOp function, mlir::ValueRange values);

/// A floating tensor with values of the domain.
reference::Tensor randomTensor(mlir::RankedTensorType type, Chooser &choose,
                               Domain domain = Domain::Any);

} // namespace ingot::testing

#endif // INGOT_TEST_GRADIENTS_INSTANCE_H
