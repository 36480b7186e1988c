// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The attribute of weights that are pruned. It is beside the dialect's others
// because few files need it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_PRUNING_H
#define INGOT_DIALECTS_INGOT_IR_PRUNING_H

#include "llvm/ADT/StringRef.h"

namespace ingot {

/// On a state of the role `parameter`, and then on the moment with its bits:
/// what is pruned, a dictionary with the keys of the manifest's PruningSpec.
/// `weight` is a symbol, `share` an f64; all others are i64.
inline constexpr llvm::StringLiteral kPruningAttr = "ingot.pruning";

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_IR_PRUNING_H
