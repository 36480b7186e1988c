// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/input/MlirText.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>
#include <cstdint>

using namespace ingot;
using llvm::StringRef;

namespace {

/// Some levels of nesting are a stack frame each, of several functions; no
/// program writes as many.
constexpr uint64_t kMaxDepth = 256;
/// The parser recurses with each operator of an expression, too.
constexpr uint64_t kMaxWords = 1000;
/// The most text that aliases may stand for: this number of words, and this
/// multiple of the text.
constexpr uint64_t kMinExpanded = uint64_t(1) << 24, kMaxGrowth = 16;

class TextCheck {
public:
  explicit TextCheck(StringRef text) : text(text) {}

  std::string run();

private:
  /// The nesting and the words of what an alias stands for.
  struct Extent {
    uint64_t depth = 0, words = 0;
  };

  void skipString();
  void readAlias();
  void open(char bracket);
  void close(char bracket);
  /// Counts a word that refers to something of this extent.
  void add(Extent extent);
  void endLine();

  StringRef text;
  size_t at = 0;
  /// The brackets that are open. An angle may also be a sign in a text of a
  /// dialect: a bracket around it closes it.
  llvm::SmallVector<char> brackets;
  llvm::StringMap<Extent> aliases;
  /// The alias that is being defined, and what it stands for so far; without
  /// a name, the rest of the text.
  StringRef defined;
  Extent definition, rest;
  uint64_t wordsOfItem = 0;
  std::string problem;
};

} // namespace

void TextCheck::skipString() {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\')
      ++at;
}

void TextCheck::add(Extent extent) {
  Extent &into = defined.empty() ? rest : definition;
  uint64_t depth = brackets.size() + extent.depth;
  into.depth = std::max(into.depth, depth);
  into.words += 1 + extent.words;
  if (depth > kMaxDepth)
    problem = "is nested more than " + std::to_string(kMaxDepth) +
              " levels deep, with its aliases";
  else if (++wordsOfItem > kMaxWords)
    problem = "has an expression of more than " + std::to_string(kMaxWords) +
              " words";
  else if (into.words >
           std::max<uint64_t>(kMinExpanded, kMaxGrowth * text.size()))
    problem = "has aliases that stand for far more text than there is";
}

void TextCheck::open(char bracket) {
  brackets.push_back(bracket);
  wordsOfItem = 0;
  add({});
}

void TextCheck::close(char bracket) {
  char opened = bracket == ')'   ? '('
                : bracket == ']' ? '['
                : bracket == '}' ? '{'
                                 : '<';
  wordsOfItem = 0;
  if (opened == '<') {
    if (!brackets.empty() && brackets.back() == '<')
      brackets.pop_back();
    return;
  }
  while (!brackets.empty() && brackets.back() == '<')
    brackets.pop_back();
  if (!brackets.empty() && brackets.back() == opened)
    brackets.pop_back();
}

/// Reads `#name` or `!name`: at the start of a line and before `=` it is
/// defined, elsewhere it is used. Names with a dot are of dialects.
void TextCheck::readAlias() {
  bool startsLine = brackets.empty() && (at == 0 || text[at - 1] == '\n');
  size_t end = at + 1;
  while (end < text.size() &&
         (llvm::isAlnum(text[end]) || StringRef("_$.-").contains(text[end])))
    ++end;
  StringRef name = text.slice(at, end);
  at = end - 1;
  StringRef behind = text.drop_front(end).ltrim();
  if (startsLine && behind.starts_with("=") && !behind.starts_with("==")) {
    endLine();
    defined = name;
    definition = {};
    at = text.size() - behind.size();
    wordsOfItem = 0;
    return;
  }
  add(aliases.lookup(name));
}

void TextCheck::endLine() {
  // The value may begin on a later line.
  if (defined.empty() || !brackets.empty() || definition.words == 0)
    return;
  aliases[defined] = definition;
  defined = "";
}

std::string TextCheck::run() {
  bool inWord = false;
  for (; at < text.size() && problem.empty(); ++at) {
    char c = text[at];
    if (llvm::isAlnum(c) || c == '_' || c == '.' || c == '%' || c == '@') {
      if (!inWord)
        add({});
      inWord = true;
      continue;
    }
    inWord = false;
    char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (c == '"') {
      skipString();
      add({});
    } else if (c == '/' && next == '/') {
      at = std::min(text.find('\n', at), text.size() - 1);
      endLine();
    } else if (c == '\n') {
      endLine();
    } else if (c == '#' || c == '!') {
      readAlias();
    } else if (c == '(' || c == '[' || c == '{') {
      open(c);
    } else if (c == '<' && next != '=') {
      open(c);
    } else if (c == ')' || c == ']' || c == '}' ||
               (c == '>' && next != '=' && (at == 0 || text[at - 1] != '-'))) {
      close(c);
    } else if (c == ',' || c == '=') {
      wordsOfItem = 0;
    } else if (!llvm::isSpace(c)) {
      add({});
    }
  }
  return problem;
}

std::string ingot::describeExcess(StringRef text) {
  // "ML\xefR" begins bytecode.
  if (text.starts_with("ML\xEFR"))
    return "";
  return TextCheck(text).run();
}
