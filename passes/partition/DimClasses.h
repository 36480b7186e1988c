// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Dimensions of the values of a function that are split together.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PARTITION_DIMCLASSES_H
#define INGOT_PASSES_PARTITION_DIMCLASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/partition/Strategies.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/IntEqClasses.h"

namespace ingot {

/// Joins dimensions along the factors of ops, and finds the segments that each
/// has to have for the others of its class.
class DimClasses {
public:
  explicit DimClasses(mlir::func::FuncOp function);

  /// The dimensions of arguments that are one class.
  struct Class {
    llvm::SmallVector<std::pair<mlir::BlockArgument, Placement>> arguments;
    /// Whether only ranges can be parts, because places matter.
    bool isContiguous = false;

    /// Returns how many elements follow the last ones so that parts are equal;
    /// nothing if there are no equal parts, or an argument is split twice.
    std::optional<int64_t> getPad(int64_t parts) const;
  };
  /// Returns the classes that arguments have dimensions of, in their order.
  llvm::ArrayRef<Class> getClasses() const { return classes; }
  /// Returns the number of the class of a dimension of a value of the function;
  /// nothing for one that comes from no argument.
  std::optional<unsigned> getClass(mlir::Value value, int64_t dim) const;

private:
  /// The number of a dimension of a value.
  unsigned getNumber(mlir::Value value, int64_t dim);
  template <typename Visit>
  void forEachDim(mlir::Operation *op, const Factor &factor, Visit visit);
  bool refine(mlir::Operation *op, const Factor &factor);

  llvm::DenseMap<mlir::Value, unsigned> first;
  /// The dimensions that come from those of arguments. Others, as of constants,
  /// exist in whatever parts are read, so that they join nothing.
  llvm::BitVector ofArguments;
  llvm::SmallVector<llvm::SmallVector<int64_t>> segments;
  llvm::IntEqClasses joined;
  llvm::SmallVector<Class> classes;
};

} // namespace ingot

#endif // INGOT_PASSES_PARTITION_DIMCLASSES_H
