// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/Text.h"

#include <algorithm>

using namespace ingot::runtime;

static bool isContinuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

/// Returns the length of the UTF-8 sequence at the start of the text, if it is
/// one and prints something; 0 otherwise.
static size_t getCharacterLength(std::string_view text) {
  auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x20 || first == 0x7f)
    return 0;
  if (first < 0x80)
    return 1;
  size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length ||
      !std::all_of(text.begin() + 1, text.begin() + length, isContinuation))
    return 0;
  // Some terminals take U+0080 to U+009F as control characters.
  if (first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0)
    return 0;
  return length;
}

std::string ingot::runtime::makePrintable(std::string_view text,
                                          bool keepsLines) {
  std::string printable;
  printable.reserve(text.size());
  while (!text.empty()) {
    size_t length = getCharacterLength(text);
    if (length == 0 && keepsLines && text[0] == '\n')
      length = 1;
    printable += length ? text.substr(0, length) : "?";
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return printable;
}

std::string ingot::runtime::shorten(std::string_view text, size_t most) {
  constexpr std::string_view gap = "...";
  if (text.size() <= most)
    return std::string(text);
  size_t head = (most - gap.size()) * 2 / 3, tail = most - gap.size() - head;
  // Not within a character.
  while (head > 0 && isContinuation(text[head]))
    --head;
  size_t from = text.size() - tail;
  while (from < text.size() && isContinuation(text[from]))
    ++from;
  return std::string(text.substr(0, head)) + std::string(gap) +
         std::string(text.substr(from));
}

std::string ingot::runtime::shortenMessage(std::string_view text) {
  constexpr size_t mostOfWord = 300, most = 3000;
  std::string result;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    result += shorten(text.substr(0, end), mostOfWord);
    text.remove_prefix(end);
    if (!text.empty()) {
      result += ' ';
      text.remove_prefix(1);
    }
  }
  return shorten(result, most);
}

/// The bytes of a name that tell it from others.
static constexpr size_t mostOfName = 100;

std::string ingot::runtime::describeName(std::string_view name) {
  return shorten(makePrintable(name), mostOfName);
}

std::string ingot::runtime::listNames(const std::vector<std::string> &names) {
  constexpr size_t most = 5;
  std::string list;
  for (size_t i = 0; i < std::min(names.size(), most); ++i)
    list += (i ? ", " : "") + describeName(names[i]);
  return names.size() > most ? list + ", ..." : list;
}

std::string ingot::runtime::describeShape(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (int64_t extent : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}
