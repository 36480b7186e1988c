// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Attributes of a training step that was imported with its backward pass,
// besides the attributes that all functions have.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_SUPPORT_IMPORTED_H
#define INGOT_DIALECTS_INGOT_SUPPORT_IMPORTED_H

#include "llvm/ADT/StringRef.h"

namespace ingot {

/// On a module: the optimizer that an imported training step comes with, which
/// is used unless the options name another. A dictionary of its `name` and of
/// the defaults of hyperparameters (f64), with `clip_norm` if it clips.
inline constexpr llvm::StringLiteral kGivenOptimizerAttr =
    "ingot.given_optimizer";

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_SUPPORT_IMPORTED_H
