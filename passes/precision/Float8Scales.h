// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Scales of 8-bit floats: what of a matrix shares one, and where matmuls read
// it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PRECISION_FLOAT8SCALES_H
#define INGOT_PASSES_PRECISION_FLOAT8SCALES_H

#include "dialects/ingot/builders/Arithmetic.h"

namespace ingot {

/// Returns the largest number of the type.
double getLargest(mlir::FloatType type);

/// Returns the largest power of two with which `amax` does not exceed the
/// largest number of its type, `largest`; 1 where amax is 0.
mlir::Value getFloat8Scale(Arithmetic a, mlir::Value amax, mlir::Value largest);

/// Parts of a matrix that share a scale (`ingot.scaled_matmul`).
class Float8Blocks {
public:
  /// `dim` is the dimension that is summed.
  Float8Blocks(llvm::ArrayRef<int64_t> shape, ScaleLayout layout, int64_t dim);

  /// Returns the largest element of each part.
  mlir::Value maxOver(mlir::OpBuilder &builder, Arithmetic a,
                      mlir::Value magnitude) const;
  /// Returns a number of each part, broadcast to all of its elements.
  mlir::Value expand(mlir::OpBuilder &builder, Arithmetic a,
                     mlir::Value value) const;
  /// Returns powers of two, one of each part, as scales in memory.
  mlir::Value arrange(mlir::OpBuilder &builder, Arithmetic a,
                      mlir::Value value) const;

private:
  bool isPadded() const { return padded != shape; }

  llvm::SmallVector<int64_t> shape, padded, split;
  /// The dimensions of `split` that are within a part.
  llvm::SmallVector<int64_t> dims;
  ScaleLayout layout;
  int64_t summed;
};

} // namespace ingot

#endif // INGOT_PASSES_PRECISION_FLOAT8SCALES_H
