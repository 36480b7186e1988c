// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Exchanges after which a value is placed in another way.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PARTITION_MOVES_H
#define INGOT_PASSES_PARTITION_MOVES_H

#include "passes/partition/Strategies.h"

namespace ingot {

/// Returns the type of what a rank has of a tensor.
mlir::RankedTensorType getLocalType(mlir::RankedTensorType type,
                                    const Placement &placement, int64_t parts);

/// Builds exchanges over one axis.
class Moves {
public:
  Moves(int64_t axis, int64_t parts) : axis(axis), parts(parts) {}

  int64_t getAxis() const { return axis; }
  /// Returns the number of the rank's part, a scalar i64.
  mlir::Value buildNumber(mlir::OpBuilder &builder) const;
  /// Returns what ranks have of a value once it is placed in another way.
  mlir::Value move(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value local, const Placement &from,
                   const Placement &to) const;

private:
  mlir::Value joinWhole(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value local, const Placement &from) const;
  mlir::Value stackParts(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value whole, const Placement &to) const;
  mlir::Value takePart(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value whole, const Placement &to) const;
  llvm::ArrayRef<int64_t> getAxes() const { return axis; }

  int64_t axis, parts;
};

} // namespace ingot

#endif // INGOT_PASSES_PARTITION_MOVES_H
