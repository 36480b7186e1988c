// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Helpers for the gradients and decompositions of composite ops.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_NORMALIZATION_NORMALIZATIONSUPPORT_H
#define INGOT_DIALECTS_INGOT_NORMALIZATION_NORMALIZATIONSUPPORT_H

#include "dialects/ingot/builders/Arithmetic.h"

namespace ingot {

/// Returns the dimensions [from, to).
inline llvm::SmallVector<int64_t> dimRange(int64_t from, int64_t to) {
  return llvm::to_vector(llvm::seq<int64_t>(from, to));
}

/// Returns where the labels have the ignored index.
inline mlir::Value ignoredLabels(Arithmetic a, CrossEntropyOp op) {
  auto index = static_cast<int64_t>(op.getIgnoreIndex());
  return a.compare(Predicate::EQ, op.getLabels(), static_cast<double>(index));
}

/// The dimensions of a normalization: statistics are over `reduced` and have
/// the shape of the others; scale and bias have the dimensions `affine` and are
/// broadcast along `repeated`.
struct NormDims {
  llvm::ArrayRef<int64_t> shape;
  llvm::SmallVector<int64_t> reduced, affine, repeated;

  /// Returns the dimensions for statistics over the dimensions from `dim` on.
  static NormDims trailing(mlir::Value operand, int64_t dim) {
    mlir::RankedTensorType type = tensorType(operand);
    llvm::SmallVector<int64_t> last = dimRange(dim, type.getRank());
    return {type.getShape(), last, last, dimRange(0, dim)};
  }

  /// Returns the dimensions for statistics of each channel, which is dimension
  /// 1.
  static NormDims channel(mlir::Value operand) {
    mlir::RankedTensorType type = tensorType(operand);
    llvm::SmallVector<int64_t> others = {0};
    others.append(dimRange(2, type.getRank()));
    return {type.getShape(), others, {1}, others};
  }

  /// Returns the number of elements per statistic.
  double count() const {
    double product = 1;
    for (int64_t dim : reduced)
      product *= shape[dim];
    return product;
  }

  mlir::Value spreadStatistic(Arithmetic a, mlir::Value value) const {
    return a.broadcastOver(value, shape, reduced);
  }
  mlir::Value spreadAffine(Arithmetic a, mlir::Value value) const {
    return a.broadcast(value, shape, affine);
  }
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_NORMALIZATION_NORMALIZATIONSUPPORT_H
