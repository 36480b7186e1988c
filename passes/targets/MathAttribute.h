// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The attribute of modules that says how exactly functions are computed.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_MATHATTRIBUTE_H
#define INGOT_PASSES_TARGETS_MATHATTRIBUTE_H

#include "llvm/ADT/StringRef.h"

namespace ingot {

/// The attribute of modules whose kernels compute functions as CPUs do, even
/// where the target has faster approximations.
inline constexpr llvm::StringLiteral kExactMathAttr = "ingot.exact_math";

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_MATHATTRIBUTE_H
