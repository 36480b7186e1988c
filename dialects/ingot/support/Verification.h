//===----------------------------------------------------------------------===//
//
// What verifiers and shape inference share: reporting a violated rule, and the
// rules about dimensions that several families have. Labels (C1, C2, ...) are
// those of docs/spec.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_SUPPORT_VERIFICATION_H
#define INGOT_DIALECTS_INGOT_SUPPORT_VERIFICATION_H

#include "dialects/ingot/ir/Dialect.h"
#include "llvm/ADT/Twine.h"

namespace ingot::detail {

/// Reports a violated rule; always fails. Shape rules run both from verifiers,
/// which report on an op, and from inference, where there is none yet.
using Fail = llvm::function_ref<llvm::LogicalResult(const llvm::Twine &)>;

/// "[2, 3]".
std::string listText(llvm::ArrayRef<int64_t> values);

/// `label`: `dim` names one of `rank` dimensions.
llvm::LogicalResult checkDim(Fail fail, llvm::StringRef label, int64_t dim,
                             int64_t rank);

/// `label`: `dims` increases strictly and names some of `rank` dimensions.
llvm::LogicalResult checkIncreasingDims(Fail fail, llvm::StringRef label,
                                        llvm::ArrayRef<int64_t> dims,
                                        int64_t rank);

/// `label`: the attribute `name` has one entry, at least `least`, for each of
/// `count` dimensions.
llvm::LogicalResult checkEntries(Fail fail, llvm::StringRef label,
                                 llvm::StringRef name,
                                 llvm::ArrayRef<int64_t> entries, int64_t count,
                                 int64_t least);

/// `label`: `what` has this shape.
llvm::LogicalResult checkShape(Fail fail, llvm::StringRef label,
                               llvm::StringRef what,
                               llvm::ArrayRef<int64_t> want,
                               llvm::ArrayRef<int64_t> got);

/// `label`: `what` has this element type.
llvm::LogicalResult checkElement(Fail fail, llvm::StringRef label,
                                 llvm::StringRef what, mlir::Type want,
                                 mlir::Type got);

/// checkShape and checkElement at once, for a whole type.
llvm::LogicalResult checkType(Fail fail, llvm::StringRef label,
                              llvm::StringRef what, mlir::RankedTensorType want,
                              mlir::Type got);

/// True if the tensor type has at most 2^48 elements (counting a size of 0 as
/// 1), so that offsets and sums of sizes in bytes do not overflow.
bool isAddressable(mlir::Type type);

/// `label`: a shape that isAddressable.
llvm::LogicalResult checkSize(Fail fail, llvm::StringRef label,
                              llvm::ArrayRef<int64_t> shape);

} // namespace ingot::detail

#endif // INGOT_DIALECTS_INGOT_SUPPORT_VERIFICATION_H
