// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A check of MLIR text before MLIR's parser reads it, which recurses with each
// level of nesting.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_INPUT_MLIRTEXT_H
#define INGOT_DIALECTS_INGOT_INPUT_MLIRTEXT_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace ingot {

/// Returns what makes the text one that the parser and what works on its result
/// should not be given: brackets or aliases that are nested too deep, an
/// expression with too many operators, or aliases that stand for far more text
/// than there is. Empty for all others, and for bytecode.
std::string describeExcess(llvm::StringRef text);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_INPUT_MLIRTEXT_H
