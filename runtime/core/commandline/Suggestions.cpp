// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/commandline/Suggestions.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <set>
#include <sstream>

using namespace ingot::runtime;

/// Letters to insert, leave out or replace, or neighbors to swap.
static size_t countEdits(const std::string &a, const std::string &b) {
  std::vector<size_t> before, row(b.size() + 1), next(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1,
                          row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before = row;
    std::swap(row, next);
  }
  return row.back();
}

static std::set<std::string> splitWords(const std::string &flag) {
  std::stringstream stream(flag);
  std::set<std::string> words;
  for (std::string word; std::getline(stream, word, '-');)
    if (!word.empty())
      words.insert(word);
  return words;
}

/// Whether one of the words begins with the other, as `grad` and `gradient`.
static bool areAlike(const std::string &a, const std::string &b) {
  return a == b || (std::min(a.size(), b.size()) >= 4 &&
                    (a.starts_with(b) || b.starts_with(a)));
}

/// Whether each of the words is like one of the others.
static bool areAmong(const std::set<std::string> &words,
                     const std::set<std::string> &others) {
  return std::all_of(words.begin(), words.end(), [&](const auto &word) {
    return std::any_of(others.begin(), others.end(), [&](const auto &other) {
      return areAlike(word, other);
    });
  });
}

static std::string initialsOf(const std::string &flag) {
  std::string initials;
  for (size_t i = 1; i < flag.size(); ++i)
    if (std::isalnum(static_cast<unsigned char>(flag[i])) && flag[i - 1] == '-')
      initials += flag[i];
  return initials;
}

std::string
ingot::runtime::findSimilar(const std::string &flag,
                            const std::vector<std::string> &options) {
  if (!flag.starts_with("-"))
    return {};
  std::string text = flag;
  text.erase(0, text.find_first_not_of('-'));
  std::set<std::string> words = splitWords(flag);
  std::string initials = initialsOf(flag), best;
  // Spelling counts more than words, and words more than initials.
  size_t least = 100;
  auto consider = [&](const std::string &option, size_t distance) {
    if (distance < least)
      least = distance, best = option;
  };
  for (const std::string &option : options) {
    if (option == flag)
      return option;
    std::string name = option.substr(2);
    size_t edits = countEdits(text, name);
    if (edits <= std::min<size_t>(2, std::min(text.size(), name.size()) / 3))
      consider(option, edits);
    std::set<std::string> known = splitWords(option);
    if (areAmong(known, words))
      consider(option, 20 - known.size());
    else if (areAmong(words, known))
      consider(option, 30 + known.size());
    if (initials.size() > 1 && name == initials)
      consider(option, 50);
  }
  return best;
}

std::vector<std::string> ingot::runtime::listOptions(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options())
    // Without a group they are in no help.
    if (!option->get_group().empty())
      for (const std::string &name : option->get_lnames())
        names.push_back("--" + name);
  return names;
}
