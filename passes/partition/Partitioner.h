// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Builds the function of one rank along an axis from that of all ranks
// together.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PARTITION_PARTITIONER_H
#define INGOT_PASSES_PARTITION_PARTITIONER_H

#include "dialects/ingot/exchange/Mesh.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/partition/Moves.h"
#include "passes/partition/RowDims.h"
#include <functional>
#include <optional>

namespace ingot {

class Partitioner {
public:
  /// Called for each exchange with the op that reads its result, and the bytes
  /// that a rank sends.
  using Report = std::function<void(mlir::Operation *exchange,
                                    mlir::Operation *reader, double bytes)>;

  Partitioner(Axis axis, int64_t parts, Report report)
      : parts(parts), moves(static_cast<int64_t>(axis), parts),
        report(std::move(report)) {}

  /// Replaces the body of a function by that of a rank; sums over the axis that
  /// `kSplitRowsAttr` names are split into rows. Fails, with an error at the
  /// function, where a partition cannot be applied.
  mlir::LogicalResult apply(mlir::func::FuncOp function);

  /// Returns how the results of the last function were computed, before they
  /// were moved to where its partitions want them.
  llvm::ArrayRef<Placement> getComputed() const { return computed; }

  /// The contractions of the last function, in the order of the step, that
  /// each rank computes as a whole, and why.
  llvm::ArrayRef<std::pair<mlir::Operation *, llvm::StringRef>>
  getWholeContractions() const {
    return wholeContractions;
  }

private:
  struct Entry {
    Placement placement;
    mlir::Value local;
    /// Copies that are placed in other ways.
    llvm::SmallVector<std::pair<Placement, mlir::Value>, 1> others = {};
  };

  void visit(mlir::Operation *op);
  Strategy choose(mlir::Operation *op);
  bool scatterRows(mlir::Operation *op, const Strategy &strategy);
  bool has(mlir::Value value, const Placement &want) const;
  bool decompose(mlir::Operation *op, const Strategy &strategy);
  void compute(mlir::Operation *op, const Strategy &strategy);
  mlir::Value get(mlir::Value value, const Placement &want,
                  mlir::Operation *reader);
  mlir::Value computePart(mlir::Value value, const Placement &want,
                          mlir::Operation *reader);
  mlir::Value getNumber();
  int64_t parts;
  Moves moves;
  Report report;
  mlir::OpBuilder builder{static_cast<mlir::MLIRContext *>(nullptr)};
  mlir::Block *block = nullptr;
  /// The rows that sums are split into, of a function that wants it.
  std::optional<RowDims> rows;
  /// The placement of each value of the function of all ranks together.
  llvm::DenseMap<mlir::Value, Entry> entries;
  mlir::Value number;
  llvm::SmallVector<Placement> computed;
  llvm::SmallVector<std::pair<mlir::Operation *, llvm::StringRef>>
      wholeContractions;
};

/// Returns how a partition splits a tensor along an axis. Fails, with an error
/// at the function, for one that cannot be applied.
mlir::FailureOr<Placement> getPlacement(mlir::func::FuncOp function,
                                        mlir::Attribute partition,
                                        mlir::RankedTensorType type,
                                        int64_t axis);

/// Returns the attribute of a tensor that is split in this way.
mlir::ArrayAttr describePartition(const Placement &placement, Axis axis,
                                  mlir::RankedTensorType type);

/// Returns the partition of an argument or result of a function: its own, or
/// that of its state; null for none.
mlir::Attribute getArgumentPartition(mlir::func::FuncOp function,
                                     unsigned index);
mlir::Attribute getResultPartition(mlir::func::FuncOp function, unsigned index);

} // namespace ingot

#endif // INGOT_PASSES_PARTITION_PARTITIONER_H
