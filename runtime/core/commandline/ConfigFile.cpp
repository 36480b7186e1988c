// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/commandline/ConfigFile.h"

#include "runtime/core/commandline/OptionChecks.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <set>
#include <sstream>

using namespace ingot::runtime;

/// Removes a comment, which begins with # outside of quotation marks. Counts
/// the brackets that are open after the line.
static std::string removeComment(const std::string &line, int &depth) {
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    if (quote) {
      quote = c == quote ? 0 : quote;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      return line.substr(0, i);
    } else if (c == '[' || c == ']') {
      depth += c == '[' ? 1 : -1;
    }
  }
  return line;
}

static CLI::ConfigError wrongLine(int number, const std::string &what) {
  return CLI::ConfigError(fmt::format("line {}: {}", number, what));
}

std::vector<CLI::ConfigItem>
ConfigReader::from_config(std::istream &input) const {
  std::string text, item, line;
  std::set<std::string> names;
  int number = 0, depth = 0;
  while (std::getline(input, line)) {
    ++number;
    if (line.find('\0') != std::string::npos)
      throw wrongLine(number, "a zero byte: this is not a text file");
    bool isNew = depth == 0;
    std::string content = CLI::detail::trim_copy(removeComment(line, depth));
    if (depth < 0)
      throw wrongLine(number, "']' without '['");
    if (content.empty())
      continue;
    if (!isNew) {
      text += content + (depth == 0 ? "\n" : " ");
      continue;
    }
    if (content.front() == '[' && content.back() == ']' && depth == 0)
      continue;
    size_t equal = content.find('=');
    std::string name = CLI::detail::trim_copy(content.substr(0, equal));
    std::replace(name.begin(), name.end(), '_', '-');
    if (equal == std::string::npos || name.empty() ||
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") !=
            std::string::npos)
      throw wrongLine(number, "not 'name = value'");
    std::string value = CLI::detail::trim_copy(content.substr(equal + 1));
    if (value.empty() || value == "\"\"" || value == "''")
      throw wrongLine(number, "'" + name + "' has no value");
    if (!names.insert(name).second)
      throw wrongLine(number, "'" + name + "' is there twice");
    // A flag that is off is one that is not given.
    if (value == "false")
      continue;
    text += name + " = " + value + (depth == 0 ? "\n" : " ");
  }
  if (depth != 0)
    throw wrongLine(number, "the file ends within an array");
  std::istringstream clean(text);
  return CLI::ConfigTOML::from_config(clean);
}

void ingot::runtime::addConfigOptions(CLI::App &app, bool &printConfig,
                                      const std::string &group) {
  app.set_config("--config", "",
                 "Read options from this file, a line of NAME = VALUE each; "
                 "those on the command line win")
      ->type_name("FILE.toml")
      ->check(isConfigurationFile())
      ->group(group);
  app.config_formatter(std::make_shared<ConfigReader>());
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.add_flag("--print-config", printConfig,
               "Print all options and exit; --config reads what is printed")
      ->disable_flag_override()
      ->configurable(false)
      ->group(group);
}

std::optional<Error>
ingot::runtime::explainConfigError(const CLI::ParseError &error) {
  std::string text = error.what();
  constexpr std::string_view unknown = "INI was not able to parse ";
  if (text.starts_with(unknown))
    return usageError("--config",
                      "unknown option '" + text.substr(unknown.size()) + "'",
                      "--help lists the options");
  if (dynamic_cast<const CLI::ConfigError *>(&error) ||
      dynamic_cast<const CLI::FileError *>(&error))
    return usageError(
        "--config", text,
        "a line is NAME = VALUE; --print-config shows an example");
  return std::nullopt;
}

/// Whether all options are given without which this one is an error.
static bool hasWhatItNeeds(const CLI::Option &option) {
  const std::set<CLI::Option *> needed = option.get_needs();
  return std::all_of(needed.begin(), needed.end(),
                     [](const CLI::Option *need) { return need->count() > 0; });
}

Configuration ingot::runtime::collectConfiguration(const CLI::App &app) {
  Configuration values;
  for (const CLI::Option *option : app.get_options()) {
    if (!option->get_configurable() || option->get_lnames().empty())
      continue;
    const std::string &name = option->get_lnames().front();
    if (option->count() > 0)
      values[name] = option->reduced_results();
    else if (!option->get_default_str().empty() && hasWhatItNeeds(*option))
      values[name] = {option->get_default_str()};
  }
  return values;
}

static std::string formatValue(const std::string &value) {
  double number = 0;
  if (value == "true" || (parseWhole(value, number) && std::isfinite(number)))
    return value;
  const char *quote = value.find('"') == std::string::npos ? "\"" : "'";
  return quote + value + quote;
}

std::string ingot::runtime::formatConfiguration(const Configuration &values) {
  std::string text;
  for (const auto &[name, parts] : values) {
    text += name + " = ";
    if (parts.size() == 1) {
      text += formatValue(parts.front()) + "\n";
      continue;
    }
    text += "[";
    for (size_t i = 0; i < parts.size(); ++i)
      text += (i > 0 ? ", " : "") + formatValue(parts[i]);
    text += "]\n";
  }
  return text;
}
