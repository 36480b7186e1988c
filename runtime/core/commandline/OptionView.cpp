// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/commandline/OptionView.h"

#include <algorithm>
#include <sstream>

using namespace ingot::runtime;

/// Whether words are alternatives, as in `stop|skip`, rather than names of
/// values, as in `N|P%`.
static bool areChoices(const std::vector<std::string> &words) {
  return words.size() > 1 &&
         std::all_of(words.begin(), words.end(), [](const std::string &word) {
           return !word.empty() &&
                  word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789"
                                         "-_.") == std::string::npos;
         });
}

static std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, separator);)
    words.push_back(word);
  return words;
}

OptionView::OptionView(const CLI::Option &option)
    : group(option.get_group()), description(option.get_description()) {
  for (const std::string &name : option.get_snames())
    names.push_back("-" + name);
  for (const std::string &name : option.get_lnames())
    names.push_back("--" + name);
  if (!option.get_default_str().empty())
    description += " [" + option.get_default_str() + "]";
  takesValue = option.get_items_expected_max() > 0;
  if (!takesValue)
    return;
  // HOW:{a,b}, or a|b.
  value = option.get_type_name();
  if (size_t brace = value.find('{'); brace != std::string::npos) {
    choices = split(value.substr(brace + 1, value.find('}') - brace - 1), ',');
    value.resize(brace > 0 && value[brace - 1] == ':' ? brace - 1 : brace);
  } else if (std::vector<std::string> words = split(value, '|');
             areChoices(words)) {
    choices = words;
  }
  if (!areChoices(choices))
    choices.clear();
  for (const char *name : {"FILE", "DIR", "PREFIX", "TRAINER", "FOLDER"})
    takesFile |= value.find(name) != std::string::npos;
  takesFile |= names.empty() || names.front() == "-o";
}

std::vector<OptionView> ingot::runtime::listViews(const CLI::App &app) {
  std::vector<OptionView> views;
  for (const CLI::Option *option : app.get_options())
    // Without a group they are in no help.
    if (!option->get_group().empty())
      views.emplace_back(*option);
  return views;
}
