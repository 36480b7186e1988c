// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Options whose words become values while the command line is parsed.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_COMMANDLINE_OPTIONBINDING_H
#define INGOT_RUNTIME_CORE_COMMANDLINE_OPTIONBINDING_H

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ingot::runtime {

/// Parses a word and keeps its value. Returns what is wrong with it, or
/// nothing.
using WordParser = std::function<std::string(const std::string &word)>;

/// Gives the words of an option that is bound to no variable to a parser.
inline CLI::Option *parseWith(CLI::Option *option, WordParser parse) {
  return option->check(CLI::Validator(
      [parse = std::move(parse)](std::string &word) { return parse(word); },
      ""));
}

/// Adds an option that a parser gets.
inline CLI::Option *addParsed(CLI::App &app, const std::string &name,
                              WordParser parse,
                              const std::string &description) {
  const CLI::callback_t accept = [](const CLI::results_t &) { return true; };
  return parseWith(app.add_option(name, accept, description), std::move(parse));
}

/// Adds an option that is some text, which may be empty, or absent.
inline CLI::Option *addText(CLI::App &app, const std::string &name,
                            std::optional<std::string> &value,
                            const std::string &description) {
  return addParsed(
      app, name,
      [&value](const std::string &word) {
        value = word;
        return std::string();
      },
      description);
}

/// The values of an enumeration by their names.
template <typename E> using Choices = std::vector<std::pair<const char *, E>>;

/// Returns the name of a value; empty if it has none.
template <typename E>
std::string getChoiceName(const Choices<E> &choices, E value) {
  for (const auto &[name, choice] : choices)
    if (choice == value)
      return name;
  return "";
}

/// Adds an option that names a value of an enumeration.
template <typename E, typename Value>
CLI::Option *addChoice(CLI::App &app, const std::string &name, Value &value,
                       const Choices<E> &choices,
                       const std::string &description) {
  std::vector<std::string> names;
  std::string all;
  for (const auto &choice : choices) {
    names.emplace_back(choice.first);
    all += (all.empty() ? "" : "|") + names.back();
  }
  auto keep = [&value, &choices](const std::string &word) {
    for (const auto &[known, choice] : choices)
      if (word == known)
        value = choice;
    return std::string();
  };
  return addParsed(app, name, keep, description)
      ->check(CLI::IsMember(names))
      ->type_name(all);
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_COMMANDLINE_OPTIONBINDING_H
