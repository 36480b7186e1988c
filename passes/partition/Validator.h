// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Finds the values of a function of all ranks together in that of one rank.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PARTITION_VALIDATOR_H
#define INGOT_PASSES_PARTITION_VALIDATOR_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/partition/Moves.h"
#include <map>
#include <set>

namespace ingot {

/// The end of the name of the function of all ranks together.
inline constexpr llvm::StringLiteral kGlobalSuffix = ".global";

/// Equal numbers for values of a function that ops with equal attributes
/// compute from equal values.
class ValueNumbers {
public:
  explicit ValueNumbers(mlir::func::FuncOp function);

  /// Returns a value of the function that is equal to the value; null if there
  /// is none. Gives the results of other ops numbers if they have such values.
  mlir::Value find(mlir::Value value) const;
  /// Returns whether the function has an op that computes the same; its results
  /// then have the numbers of that op's.
  bool match(mlir::Operation *op);
  /// Forgets ops that are not of the function.
  void forget(mlir::Block &block);

private:
  using Key = std::vector<uintptr_t>;
  Key getKey(mlir::Operation *op) const;

  llvm::DenseMap<mlir::Value, uintptr_t> numbers;
  std::map<Key, uintptr_t> firstResults;
  llvm::SmallVector<mlir::Value> values;
};

/// Maps each value of a function to what a rank computes of it.
class Validator {
public:
  Validator(mlir::func::FuncOp global, mlir::func::FuncOp local, int64_t axis,
            int64_t parts);

  /// Fails, with an error at the op, for the first value that no rank computes.
  mlir::LogicalResult run();
  int64_t getFound() const { return found; }

private:
  using Form = std::pair<Placement, mlir::Value>;

  void visit(mlir::Operation *op);
  void tryFactor(mlir::Operation *op, const Factor &factor);
  void tryTerms(mlir::Operation *op);
  bool attempt(mlir::Operation *op, const Strategy &strategy);
  void tryPlacement(mlir::Operation *op, const Factor &factor,
                    llvm::ArrayRef<Placement> placed);
  mlir::Value computePart(mlir::Value value, const Placement &want);
  mlir::Value find(mlir::Value value, const Placement &want);
  bool add(mlir::Value value, const Placement &placement, mlir::Value local);
  llvm::SmallVector<mlir::Value>
  match(llvm::function_ref<
        llvm::SmallVector<mlir::Value>(mlir::OpBuilder &builder)>
            build);
  mlir::LogicalResult emitMissing(mlir::Value value);

  mlir::func::FuncOp global, local;
  Moves moves;
  int64_t parts, found = 0;
  ValueNumbers numbers;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Form, 2>> forms;
  /// The parts that were looked for: values, dimensions, padding and segments.
  std::set<std::tuple<void *, int64_t, int64_t, std::vector<int64_t>>> searched;
};

} // namespace ingot

#endif // INGOT_PASSES_PARTITION_VALIDATOR_H
