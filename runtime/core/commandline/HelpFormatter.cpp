// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/commandline/HelpFormatter.h"

#include <fmt/format.h>
#include <sstream>
#include <utility>

using namespace ingot::runtime;

static constexpr size_t kColumn = 30, kWidth = 80;

HelpFormatter::HelpFormatter(std::vector<EnvironmentVariable> variables)
    : variables(std::move(variables)) {
  column_width(kColumn);
}

static std::string wrap(const std::string &text, size_t width) {
  std::string wrapped, line;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      wrapped += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return wrapped + line;
}

std::string HelpFormatter::make_option_name(const CLI::Option *option,
                                            bool isPositional) const {
  // CLI11 shows the default of an optional value in braces.
  std::string name = Formatter::make_option_name(option, isPositional);
  size_t brace = name.find('{');
  return brace == std::string::npos ? name : name.substr(0, brace);
}

std::string HelpFormatter::make_option_opts(const CLI::Option *option) const {
  std::string type = option->get_type_name();
  return type.empty() ? "" : " " + type;
}

std::string HelpFormatter::make_option_desc(const CLI::Option *option) const {
  std::string text = option->get_description();
  if (!option->get_default_str().empty())
    text += " [" + option->get_default_str() + "]";
  return wrap(text, kWidth - kColumn);
}

std::string HelpFormatter::make_footer(const CLI::App *app) const {
  std::stringstream text;
  if (!variables.empty())
    text << "Environment:\n";
  for (auto [name, description] : variables)
    CLI::detail::format_help(text, fmt::format("  {}", name),
                             wrap(description, kWidth - kColumn), kColumn);
  if (!app->get_footer().empty())
    text << (variables.empty() ? "" : "\n") << app->get_footer() << "\n";
  return text.str();
}
