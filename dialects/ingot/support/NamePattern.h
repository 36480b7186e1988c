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
#include <string>

namespace ingot {

/// A regular expression (POSIX extended) that is found anywhere in names; the
/// empty one, for an option that was not given, is found in none.
class NamePattern {
public:
  /// Parses the value of an option. The error is a UserError about the option.
  /// Expressions whose automaton would be huge are errors too: those with much
  /// text, many repetitions within repetitions, or back-references, which can
  /// take exponential time.
  static llvm::Expected<NamePattern> parse(llvm::StringRef option,
                                           llvm::StringRef text);

  bool empty() const { return !regex; }
  bool match(llvm::StringRef name) const { return regex && regex->match(name); }
  /// Returns the expression as it was written.
  const std::string &getText() const { return text; }

private:
  std::shared_ptr<llvm::Regex> regex;
  std::string text;
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_SUPPORT_NAMEPATTERN_H
