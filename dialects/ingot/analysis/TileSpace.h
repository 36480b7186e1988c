// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The iteration space of a `tile` fusion: a matrix in tiles, whose elements a
// kernel may write in two orders and reduce within each tile.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_ANALYSIS_TILESPACE_H
#define INGOT_DIALECTS_INGOT_ANALYSIS_TILESPACE_H

#include "dialects/ingot/analysis/RowSpace.h"

namespace ingot {

/// How a `tile` fusion stores a result of each tile.
enum class TileResult {
  /// Its elements, at their places.
  Elements,
  /// Its elements, with rows and columns exchanged: a `transpose`.
  Transposed,
  /// One element: a reduction of the whole tile.
  Whole,
  /// One element for each of its columns: a reduction of the tile's rows.
  Columns,
};

/// A matrix of `matrix.rows` x `matrix.length` elements in tiles of `rows` x
/// `columns`, which divide it.
struct TileSpace {
  RowSpace matrix;
  int64_t rows, columns;

  /// Returns the side of tiles along a dimension of this size: 64, or less
  /// where that does not divide it; 0 if not even 16 does.
  static int64_t getSide(int64_t size);

  /// Returns the space in which all of these ops are results of one kernel, at
  /// least one of them transposed; nothing if there is none.
  static std::optional<TileSpace> of(llvm::ArrayRef<mlir::Operation *> roots);

  /// Returns what the op, which is a result, has of each tile.
  static TileResult classify(mlir::Operation *root);

  /// Returns the value whose element at the current row and column is what the
  /// result takes from there.
  static mlir::Value getElements(mlir::Operation *root);
};

/// Returns where the ops of a kernel read values, apart from what its results,
/// `roots`, do with elements of tiles.
RowReads readTiles(const TileSpace &space,
                   llvm::ArrayRef<mlir::Operation *> ops,
                   llvm::ArrayRef<mlir::Operation *> roots);

/// Returns an op of a kernel that prevents it from being computed tile by tile,
/// or null; `ops` has the results, `roots`, among them.
mlir::Operation *findTileConflict(const TileSpace &space,
                                  llvm::ArrayRef<mlir::Operation *> ops,
                                  llvm::ArrayRef<mlir::Operation *> roots);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_ANALYSIS_TILESPACE_H
