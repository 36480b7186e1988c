// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Permutations of dimensions: for each new dimension, the old one (Permutable).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_SUPPORT_PERMUTATION_H
#define INGOT_DIALECTS_INGOT_SUPPORT_PERMUTATION_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace ingot::detail {

/// Returns the entries per dimension in the new order.
inline llvm::SmallVector<int64_t> permuted(llvm::ArrayRef<int64_t> values,
                                           llvm::ArrayRef<int64_t> order) {
  return llvm::map_to_vector(order, [&](int64_t dim) { return values[dim]; });
}

/// Returns the new dimension for each old one.
inline llvm::SmallVector<int64_t> inverseOf(llvm::ArrayRef<int64_t> order) {
  llvm::SmallVector<int64_t> inverse(order.size());
  for (auto [i, dim] : llvm::enumerate(order))
    inverse[dim] = i;
  return inverse;
}

} // namespace ingot::detail

#endif // INGOT_DIALECTS_INGOT_SUPPORT_PERMUTATION_H
