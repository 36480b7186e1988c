// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Attributes of models that are trained to be quantized. They are beside the
// dialect's others because few files need them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_QUANTIZERS_H
#define INGOT_DIALECTS_INGOT_IR_QUANTIZERS_H

#include "llvm/ADT/StringRef.h"

namespace ingot {

/// On a module: its quantizers, an array of dictionaries. `scale`,
/// `zero_point`, `low` and `high` are symbols of states, the last three absent
/// where there is none; `axis` and `block` are i64, `least` and `greatest` are
/// f64, and `learned` is a unit: QuantizerSpec of the manifest says what they
/// are.
inline constexpr llvm::StringLiteral kQuantizersAttr = "ingot.quantizers";

/// On a result of the forward function: the state of the scales with which it
/// is quantized. It is no output of the model, but one of @observe, by the name
/// of that state.
inline constexpr llvm::StringLiteral kObservedAttr = "ingot.observed";

/// The function that returns what is quantized.
inline constexpr llvm::StringLiteral kObserveName = "observe";

/// On a parameter: no update makes an element less than this number (f64).
inline constexpr llvm::StringLiteral kLeastAttr = "ingot.least";

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_IR_QUANTIZERS_H
