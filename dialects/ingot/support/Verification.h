// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Helpers for verifiers and shape inference: reporting a violated constraint,
// and the constraints on dimensions that several families share. Labels (C1,
// C2, ...) are those of docs/spec.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_SUPPORT_VERIFICATION_H
#define INGOT_DIALECTS_INGOT_SUPPORT_VERIFICATION_H

#include "dialects/ingot/ir/Dialect.h"
#include "llvm/ADT/Twine.h"

namespace ingot::detail {

/// Reports a violated constraint, and always fails. Constraints on shapes are
/// checked by verifiers, which report on an op, and by inference, where there
/// is no op yet.
using Fail = llvm::function_ref<llvm::LogicalResult(const llvm::Twine &)>;

/// Formats a list as in "[2, 3]".
std::string listText(llvm::ArrayRef<int64_t> values);

/// Checks that `dim` is one of `rank` dimensions.
llvm::LogicalResult checkDim(Fail fail, llvm::StringRef label, int64_t dim,
                             int64_t rank);

/// Checks that `dims` increases strictly and contains dimensions of `rank`
/// ones.
llvm::LogicalResult checkIncreasingDims(Fail fail, llvm::StringRef label,
                                        llvm::ArrayRef<int64_t> dims,
                                        int64_t rank);

/// Checks that the attribute `name` has one entry, at least `least`, for each
/// of `count` dimensions.
llvm::LogicalResult checkEntries(Fail fail, llvm::StringRef label,
                                 llvm::StringRef name,
                                 llvm::ArrayRef<int64_t> entries, int64_t count,
                                 int64_t least);

/// Checks that `what` has this shape.
llvm::LogicalResult checkShape(Fail fail, llvm::StringRef label,
                               llvm::StringRef what,
                               llvm::ArrayRef<int64_t> want,
                               llvm::ArrayRef<int64_t> got);

/// Checks that `what` has this element type.
llvm::LogicalResult checkElement(Fail fail, llvm::StringRef label,
                                 llvm::StringRef what, mlir::Type want,
                                 mlir::Type got);

/// Checks the shape and the element type of a whole type.
llvm::LogicalResult checkType(Fail fail, llvm::StringRef label,
                              llvm::StringRef what, mlir::RankedTensorType want,
                              mlir::Type got);

/// Returns true if the tensor type has at most 2^48 elements (counting a size
/// of 0 as 1), so that offsets and sums of sizes in bytes do not overflow.
bool isAddressable(mlir::Type type);

/// Checks that a shape satisfies isAddressable().
llvm::LogicalResult checkSize(Fail fail, llvm::StringRef label,
                              llvm::ArrayRef<int64_t> shape);

} // namespace ingot::detail

#endif // INGOT_DIALECTS_INGOT_SUPPORT_VERIFICATION_H
