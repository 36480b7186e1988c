// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Regular expressions by which users select parameters and nodes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_SUPPORT_NAMEPATTERN_H
#define INGOT_DIALECTS_INGOT_SUPPORT_NAMEPATTERN_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Regex.h"
#include <memory>

namespace ingot {

/// A regular expression (POSIX extended), found anywhere in names; null for an
/// empty text. The error is a UserError about the option. Expressions whose
/// automaton would be huge are errors too: those with much text, many
/// repetitions within repetitions, or back-references, which can take
/// exponential time.
llvm::Expected<std::shared_ptr<llvm::Regex>>
parseNamePattern(llvm::StringRef option, llvm::StringRef text);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_SUPPORT_NAMEPATTERN_H
