// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Attributes of models with adapters. They are beside the dialect's others
// because few files need them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_ADAPTERS_H
#define INGOT_DIALECTS_INGOT_IR_ADAPTERS_H

#include "llvm/ADT/StringRef.h"

namespace ingot {

/// On a module: its adapters, an array of dictionaries. `module` is the path of
/// a layer (string), `weight`, `a` and `b` are symbols of states, `scale`,
/// `alpha` and `dropout` are f64; `bias` is none, all or lora_only;
/// `transposed`, if the state of the weight is [in, out], and `rank_stabilized`
/// are units. Adapters that train magnitudes have their state, `magnitude`.
inline constexpr llvm::StringLiteral kAdaptersAttr = "ingot.adapters";

/// The end of the name of a state with the squares of the norms of the rows of
/// a weight that is not trained; before it is the name of the magnitudes.
inline constexpr llvm::StringLiteral kSquaresSuffix = "/squares";

/// On a state: a run draws its initial value from its seed, uniform between
/// minus this number (f64) and this number.
inline constexpr llvm::StringLiteral kUniformAttr = "ingot.uniform";

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_IR_ADAPTERS_H
