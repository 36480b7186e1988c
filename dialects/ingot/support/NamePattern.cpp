// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/support/NamePattern.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace ingot;
using llvm::StringRef;

/// More states than this take seconds to compile, and to match.
static constexpr size_t kMaxStates = 20000;

namespace {
/// Estimates the number of states of an expression's automaton: a repetition
/// copies what it repeats.
class StateCounter {
public:
  explicit StateCounter(StringRef text) : text(text) {}

  /// Returns kMaxStates or more if there are too many.
  size_t count() {
    while (at < text.size())
      step();
    size_t total = 0;
    for (const Group &group : groups)
      total += group.states;
    return total;
  }
  bool hasBackReference() const { return refersBack; }

private:
  /// The states of an open parenthesis, and those of its last atom among them.
  struct Group {
    size_t states = 0, last = 0;
  };

  void add(size_t states) {
    Group &group = groups.back();
    group.last = states;
    group.states = std::min(kMaxStates, group.states + states);
  }

  void step() {
    char c = text[at++];
    switch (c) {
    case '\\':
      refersBack |= at < text.size() && llvm::isDigit(text[at]);
      ++at;
      return add(1);
    case '[':
      skipBrackets();
      return add(1);
    case '(':
      groups.emplace_back();
      return;
    case ')':
      // An unmatched parenthesis is an error of the syntax.
      if (groups.size() > 1) {
        size_t states = groups.pop_back_val().states;
        add(states);
      }
      return;
    case '{':
      return repeat();
    default:
      return add(1);
    }
  }

  void skipBrackets() {
    at += text.substr(at).starts_with("^");
    // A bracket that comes first is one of the characters.
    size_t end = text.find(']', at + 1);
    at = end == StringRef::npos ? text.size() : end + 1;
  }

  void repeat() {
    StringRef bounds =
        text.substr(at).take_until([](char c) { return c == '}'; });
    at += bounds.size() + 1;
    size_t times = 1;
    for (StringRef bound :
         {bounds.split(',').first, bounds.split(',').second}) {
      size_t value = 0;
      if (!bound.getAsInteger(10, value))
        times = std::max(times, std::min(value, kMaxStates));
    }
    Group &group = groups.back();
    size_t more = group.last * (times - 1);
    group.last = std::min(kMaxStates, group.last + more);
    group.states = std::min(kMaxStates, group.states + more);
  }

  StringRef text;
  size_t at = 0;
  bool refersBack = false;
  llvm::SmallVector<Group> groups{1};
};
} // namespace

llvm::Expected<NamePattern> NamePattern::parse(StringRef option,
                                               StringRef text) {
  NamePattern pattern;
  if (text.empty())
    return pattern;
  StateCounter counter(text);
  if (counter.count() >= kMaxStates)
    return makeOptionError(option,
                           "'" + text + "' is too large a regular expression",
                           "repeat less, or give several alternatives with |");
  if (counter.hasBackReference())
    return makeOptionError(option,
                           "'" + text + "' refers back to what it has found",
                           "use a regular expression without \\1 to \\9");
  pattern.text = text.str();
  pattern.regex = std::make_shared<llvm::Regex>(text);
  std::string problem;
  if (!pattern.regex->isValid(problem))
    return makeOptionError(
        option, "'" + text + "' is not a regular expression: " + problem,
        "use POSIX extended syntax, such as '^encoder|norm'");
  return pattern;
}
