// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Attributes of arguments by which the trainer checks the integers of its data.
// They are beside the dialect's others because few files need them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_INPUTATTRIBUTES_H
#define INGOT_DIALECTS_INGOT_IR_INPUTATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace ingot {

/// The label beside the classes of `ingot.classes` that does not count.
inline constexpr llvm::StringLiteral kIgnoredAttr = "ingot.ignored";

/// The sizes of the tables that the elements of a sample index, as pairs of a
/// number of elements that follow each other and the rows of their table, 0 for
/// elements that index none. Indices may count from the end of a table.
inline constexpr llvm::StringLiteral kRowsAttr = "ingot.rows";

/// On a placed step: the two attributes above of its inputs, by their names.
inline constexpr llvm::StringLiteral kIndicesAttr = "ingot.indices";

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_IR_INPUTATTRIBUTES_H
