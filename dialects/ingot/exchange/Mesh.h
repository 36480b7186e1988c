// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The mesh of the ranks of a run, and its axes (docs/spec/exchange.md).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_EXCHANGE_MESH_H
#define INGOT_DIALECTS_INGOT_EXCHANGE_MESH_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpImplementation.h"
#include <array>
#include <optional>

namespace ingot {

/// The attribute of a module with the number of ranks along axes, as in
/// `{data = 4, tensor = 2}`.
inline constexpr llvm::StringLiteral kMeshAttr = "ingot.mesh";

/// The axes, the slowest in the numbers of ranks first.
enum class Axis : int64_t { Pipeline, Data, Inner, Context, Tensor };
inline constexpr size_t kNumAxes = 5;

llvm::StringRef stringifyAxis(Axis axis);
std::optional<Axis> symbolizeAxis(llvm::StringRef name);

/// The number of ranks along each axis.
class Mesh {
public:
  /// The size of an axis that has as many ranks as a run.
  static constexpr int64_t kAny = -1;

  /// Returns the mesh of the module that an op is in, or that it is.
  static Mesh of(mlir::Operation *op);

  int64_t getSize(Axis axis) const { return sizes[static_cast<size_t>(axis)]; }
  /// Returns the number of ranks that differ in their coordinates on the axes
  /// (Axis) only, or kAny.
  int64_t getSize(llvm::ArrayRef<int64_t> axes) const;
  /// Returns the axes (Axis) along which ranks train on different samples, and
  /// the one of them along which they have shards.
  llvm::SmallVector<int64_t, 2> getSampleAxes() const;
  int64_t getShardAxis() const { return getSampleAxes().back(); }
  /// Returns the coordinates of one of `ranks` along all axes, those of an axis
  /// of size kAny included.
  std::array<int64_t, kNumAxes> getCoordinates(int64_t rank,
                                               int64_t ranks) const;
  /// Returns the place of a rank among those that differ in their coordinates
  /// on the axes only, major first. Their sizes are known.
  int64_t getPlace(llvm::ArrayRef<int64_t> axes, int64_t rank) const;

private:
  std::array<int64_t, kNumAxes> sizes = {1, kAny, 1, 1, 1};
};

/// Returns axes as bits of ingot_axis.
int32_t getAxisBits(llvm::ArrayRef<int64_t> axes);

/// Returns the type of a state with the coordinates of a rank along all axes.
mlir::RankedTensorType getCoordinatesType(mlir::MLIRContext *context);

/// Returns what is wrong with the value of kMeshAttr; empty if it is a mesh.
std::string checkMesh(mlir::Attribute attribute);

/// Parse and print the axes of an exchange: `[data, tensor]`.
mlir::ParseResult parseAxes(mlir::OpAsmParser &parser,
                            mlir::DenseI64ArrayAttr &axes);
void printAxes(mlir::OpAsmPrinter &printer, mlir::Operation *op,
               mlir::DenseI64ArrayAttr axes);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_EXCHANGE_MESH_H
