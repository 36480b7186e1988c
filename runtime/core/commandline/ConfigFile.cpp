// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/commandline/ConfigFile.h"

#include "runtime/core/commandline/OptionChecks.h"
#include "runtime/core/text/ByteOrderMark.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <set>
#include <string_view>

using namespace ingot::runtime;

namespace {

/// Reads the text of a configuration from its beginning to its end.
class ConfigParser {
public:
  explicit ConfigParser(std::string_view text)
      : text(skipByteOrderMark(text)) {}

  std::vector<CLI::ConfigItem> parse();

private:
  [[noreturn]] void fail(const std::string &what) const;
  bool isAt(std::string_view characters) const {
    return at < text.size() &&
           characters.find(text[at]) != std::string_view::npos;
  }
  bool isAtEnd() const { return at == text.size(); }
  void skip(std::string_view characters);
  /// Skips what has no meaning within a line: blanks, and a comment.
  void skipBlanks();
  void skipTable();
  std::string readName();
  std::vector<std::string> readValues(const std::string &name);
  std::vector<std::string> readArray();
  std::string readValue(std::string_view ends);
  std::string readString();

  std::string_view text;
  size_t at = 0;
  int line = 1;
};

} // namespace

void ConfigParser::fail(const std::string &what) const {
  throw CLI::ConfigError(fmt::format("line {}: {}", line, what));
}

void ConfigParser::skip(std::string_view characters) {
  for (; isAt(characters); ++at)
    line += text[at] == '\n';
}

void ConfigParser::skipBlanks() {
  skip(" \t\r");
  if (isAt("#"))
    at = std::min(text.find('\n', at), text.size());
}

/// A table is a heading: `[name]` in a line of its own.
void ConfigParser::skipTable() {
  size_t end = std::min(text.find('\n', at), text.size());
  std::string_view heading = text.substr(at, end - at);
  heading = heading.substr(0, heading.find('#'));
  size_t last = heading.find_last_not_of(" \t\r");
  if (heading[last] != ']')
    fail("not 'name = value'");
  at = end;
}

std::string ConfigParser::readName() {
  size_t end = std::min(text.find_first_of("=\n#", at), text.size());
  std::string name =
      CLI::detail::trim_copy(std::string(text.substr(at, end - at)));
  std::replace(name.begin(), name.end(), '_', '-');
  if (isAt("]"))
    fail("']' without '['");
  if (end == text.size() || text[end] != '=' || name.empty() ||
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") !=
          std::string::npos)
    fail("not 'name = value'");
  at = end + 1;
  return name;
}

/// A string in quotation marks; in double ones, a backslash stands before
/// those, itself, and letters for ends of lines and tabs. Before others it is
/// what it is, as in regular expressions.
std::string ConfigParser::readString() {
  constexpr std::string_view escaped = "\"\\nrt", meant = "\"\\\n\r\t";
  char quote = text[at++];
  std::string value;
  for (; !isAtEnd() && text[at] != quote; ++at) {
    if (text[at] == '\n')
      break;
    size_t escape = quote == '"' && text[at] == '\\' && at + 1 < text.size()
                        ? escaped.find(text[at + 1])
                        : std::string_view::npos;
    bool isEscape = escape != std::string_view::npos;
    value += isEscape ? meant[escape] : text[at];
    at += isEscape ? 1 : 0;
  }
  if (isAtEnd() || text[at] != quote)
    fail("a string does not end");
  ++at;
  return value;
}

/// A string, or a word that one of `ends`, a blank or a comment ends.
std::string ConfigParser::readValue(std::string_view ends) {
  if (isAt("\"'"))
    return readString();
  size_t begin = at;
  while (!isAtEnd() && !isAt(" \t\r\n#") && !isAt(ends))
    ++at;
  return std::string(text.substr(begin, at - begin));
}

std::vector<std::string> ConfigParser::readArray() {
  std::vector<std::string> values;
  bool isSeparated = true;
  for (++at;; isSeparated = false) {
    // Values are on as many lines as one likes, with comments after them.
    do {
      skipBlanks();
      while (isAt(",\n")) {
        isSeparated = true;
        skip(",\n");
      }
    } while (isAt(" \t\r#"));
    if (isAtEnd())
      fail("the file ends within an array");
    if (isAt("]"))
      break;
    if (isAt("["))
      fail("an array within an array");
    if (!isSeparated)
      fail("no comma between two values");
    values.push_back(readValue(",]"));
  }
  ++at;
  return values;
}

std::vector<std::string> ConfigParser::readValues(const std::string &name) {
  skipBlanks();
  std::vector<std::string> values;
  if (isAt("[")) {
    values = readArray();
    skipBlanks();
  } else {
    // Words without quotation marks need no array.
    while (!isAtEnd() && !isAt("\n")) {
      values.push_back(readValue(","));
      skip(" \t\r,");
      skipBlanks();
    }
  }
  if (!isAtEnd() && !isAt("\n"))
    fail("words after the value of '" + name + "'");
  bool isEmpty =
      std::all_of(values.begin(), values.end(),
                  [](const std::string &value) { return value.empty(); });
  if (isEmpty)
    fail("'" + name + "' has no value");
  return values;
}

std::vector<CLI::ConfigItem> ConfigParser::parse() {
  std::vector<CLI::ConfigItem> items;
  std::set<std::string> names;
  while (true) {
    skip(" \t\r\n");
    skipBlanks();
    if (isAtEnd())
      return items;
    if (isAt("\n"))
      continue;
    if (isAt("[")) {
      skipTable();
      continue;
    }
    CLI::ConfigItem item;
    item.name = readName();
    item.inputs = readValues(item.name);
    if (!names.insert(item.name).second)
      fail("'" + item.name + "' is there twice");
    // A flag that is off is one that is not given.
    if (item.inputs != std::vector<std::string>{"false"})
      items.push_back(std::move(item));
  }
}

std::vector<CLI::ConfigItem>
ConfigReader::from_config(std::istream &input) const {
  std::string text{std::istreambuf_iterator<char>(input), {}};
  if (size_t zero = text.find('\0'); zero != std::string::npos)
    throw CLI::ConfigError(fmt::format(
        "line {}: a zero byte: this is not a text file",
        1 + std::count(text.begin(),
                       text.begin() + static_cast<ptrdiff_t>(zero), '\n')));
  return ConfigParser(text).parse();
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
  bool isPlain = value.find_first_of("\\\n\r\t") == std::string::npos;
  if (isPlain && value.find('"') == std::string::npos)
    return '"' + value + '"';
  if (value.find_first_of("'\n") == std::string::npos)
    return "'" + value + "'";
  std::string text;
  for (char c : value) {
    constexpr std::string_view escaped = "\"\\\n\r\t", letters = "\"\\nrt";
    if (size_t which = escaped.find(c); which != std::string_view::npos) {
      text += '\\';
      c = letters[which];
    }
    text += c;
  }
  return '"' + text + '"';
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
