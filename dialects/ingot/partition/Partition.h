// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How a tensor is split along axes of the mesh of ranks
// (docs/spec/partition.md).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_PARTITION_PARTITION_H
#define INGOT_DIALECTS_INGOT_PARTITION_PARTITION_H

#include "dialects/ingot/exchange/Mesh.h"
#include "mlir/IR/BuiltinTypes.h"

namespace ingot {

/// The attribute of states, arguments and results with their partition, as in
/// `[{}, {tensor = [8, 4, 4], pad = 2}]`.
inline constexpr llvm::StringLiteral kPartitionAttr = "ingot.partition";

/// The attribute of functions with the name of the axis that rows are split
/// along where ranks have sums of them.
inline constexpr llvm::StringLiteral kSplitRowsAttr = "ingot.split_rows";

/// How one dimension is split.
struct DimPartition {
  /// The axes (Axis) that split it, major first; none for a whole dimension.
  llvm::SmallVector<int64_t> axes = {};
  /// The sizes of the segments, each of which is split by itself, so that a
  /// rank has a part of each.
  llvm::SmallVector<int64_t> segments = {};
  /// Elements behind the last one, so that parts are equal.
  int64_t pad = 0;
};

/// How a tensor is split: which elements each rank has.
class Partition {
public:
  /// Returns what is wrong with an attribute of a tensor of this type; empty if
  /// it is a partition of it.
  static std::string check(mlir::Attribute attribute,
                           mlir::RankedTensorType type, const Mesh &mesh);
  /// Returns the partition of a tensor for an attribute that `check` has
  /// accepted; all whole for null.
  static Partition get(mlir::Attribute attribute, mlir::RankedTensorType type,
                       const Mesh &mesh);

  bool isWhole() const;
  llvm::ArrayRef<DimPartition> getDims() const { return dims; }
  /// Returns the type of a rank's part.
  mlir::RankedTensorType getLocalType() const;
  /// Returns where each element of a rank's part is in the whole tensor, both
  /// row-major; -1 for padding. Ranks beyond those of the mesh start over.
  llvm::SmallVector<int64_t> getPlaces(int64_t rank) const;

private:
  int64_t getParts(const DimPartition &dim) const {
    return mesh.getSize(dim.axes);
  }

  mlir::RankedTensorType type;
  Mesh mesh;
  llvm::SmallVector<DimPartition, 4> dims;
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_PARTITION_PARTITION_H
