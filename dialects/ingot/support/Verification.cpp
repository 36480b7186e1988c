// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/support/Verification.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot;

std::string ingot::detail::listText(ArrayRef<int64_t> values) {
  std::string text = "[";
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(values, stream);
  return text + "]";
}

static std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "'" << type << "'";
  return text;
}

LogicalResult ingot::detail::checkDim(Fail fail, StringRef label, int64_t dim,
                                      int64_t rank) {
  if (dim >= 0 && dim < rank)
    return success();
  return fail(llvm::formatv("{0}: dim must be at least 0 and below the rank "
                            "{1}, got {2}",
                            label, rank, dim)
                  .str());
}

LogicalResult ingot::detail::checkIncreasingDims(Fail fail, StringRef label,
                                                 ArrayRef<int64_t> dims,
                                                 int64_t rank) {
  int64_t least = 0;
  for (int64_t dim : dims) {
    if (dim < least || dim >= rank)
      return fail(llvm::formatv("{0}: dims must increase strictly and lie "
                                "within the rank {1}, got {2}",
                                label, rank, listText(dims))
                      .str());
    least = dim + 1;
  }
  return success();
}

LogicalResult ingot::detail::checkEntries(Fail fail, StringRef label,
                                          StringRef name,
                                          ArrayRef<int64_t> entries,
                                          int64_t count, int64_t least) {
  if (static_cast<int64_t>(entries.size()) == count &&
      llvm::all_of(entries, [&](int64_t entry) { return entry >= least; }))
    return success();
  return fail(llvm::formatv("{0}: {1} must have {2} entries of at least {3}, "
                            "got {4}",
                            label, name, count, least, listText(entries))
                  .str());
}

LogicalResult ingot::detail::checkShape(Fail fail, StringRef label,
                                        StringRef what, ArrayRef<int64_t> want,
                                        ArrayRef<int64_t> got) {
  if (want == got)
    return success();
  return fail(llvm::formatv("{0}: {1} must have shape {2}, got {3}", label,
                            what, listText(want), listText(got))
                  .str());
}

LogicalResult ingot::detail::checkElement(Fail fail, StringRef label,
                                          StringRef what, Type want, Type got) {
  if (want == got)
    return success();
  return fail(llvm::formatv("{0}: {1} must have elements of {2}, got {3}",
                            label, what, typeText(want), typeText(got))
                  .str());
}

LogicalResult ingot::detail::checkType(Fail fail, StringRef label,
                                       StringRef what, RankedTensorType want,
                                       Type got) {
  if (want == got)
    return success();
  return fail(llvm::formatv("{0}: {1} must be {2}, got {3}", label, what,
                            typeText(want), typeText(got))
                  .str());
}

static bool isAddressable(ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t size : shape)
    if (llvm::MulOverflow(elements, std::max<int64_t>(size, 1), elements) ||
        elements > (int64_t(1) << 48))
      return false;
  return true;
}

bool ingot::detail::isAddressable(Type type) {
  return ::isAddressable(cast<ShapedType>(type).getShape());
}

LogicalResult ingot::detail::checkSize(Fail fail, StringRef label,
                                       ArrayRef<int64_t> shape) {
  if (::isAddressable(shape))
    return success();
  return fail(llvm::formatv("{0}: the result may have at most 2^48 elements, "
                            "got shape {1}",
                            label, listText(shape))
                  .str());
}
