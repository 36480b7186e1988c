// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What the command lines of the tools have in common.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_SUPPORT_COMMANDLINE_H
#define INGOT_TOOLS_SUPPORT_COMMANDLINE_H

#include "runtime/core/Error.h"
#include "runtime/core/commandline/ConfigFile.h"
#include "runtime/core/commandline/HelpFormatter.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ingot {

/// Accepts integers from 1.
inline CLI::Validator positiveInteger() {
  return CLI::Validator(
      [](const std::string &text) -> std::string {
        int64_t value = 0;
        const char *end = text.data() + text.size();
        auto parsed = std::from_chars(text.data(), end, value);
        if (parsed.ec == std::errc() && parsed.ptr == end && value > 0)
          return "";
        return "'" + text + "' is not an integer from 1";
      },
      "");
}

/// Returns a parser's error as one about the option that it begins with.
inline runtime::Error makeUsageError(const CLI::ParseError &error,
                                     const std::string &hint) {
  if (std::optional<runtime::Error> problem =
          runtime::explainConfigError(error))
    return *problem;
  std::string text = error.what();
  size_t colon = text.find(": ");
  bool isNamed = text.starts_with("-") && colon != std::string::npos;
  return runtime::usageError(isNamed ? text.substr(0, colon) : "command line",
                             isNamed ? text.substr(colon + 2) : text, hint);
}

/// Throws usageError if an option was given an empty value, which mostly comes
/// from an unset variable of the shell.
inline void refuseEmptyValues(const CLI::App &app) {
  for (const CLI::Option *option : app.get_options())
    for (const std::string &value : option->results())
      if (value.empty() && option->get_items_expected_max() > 0)
        throw runtime::usageError(
            option->get_name(), "the value is empty",
            "give a value, or leave the option out; a variable of the shell "
            "may be unset");
  for (const CLI::App *command : app.get_subcommands())
    refuseEmptyValues(*command);
}

/// Parses the command line of a tool, whose --help ends with `variables`.
/// Returns false where --help or --version was all that was asked for, which is
/// printed then. Throws usageError.
inline bool
parseCommandLine(CLI::App &app, int argc, const char *const *argv,
                 std::vector<runtime::EnvironmentVariable> variables = {}) {
  app.formatter(std::make_shared<runtime::HelpFormatter>(std::move(variables)));
  for (CLI::App *command : app.get_subcommands({}))
    command->formatter(std::make_shared<runtime::HelpFormatter>());
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &success) {
    app.exit(success);
    return false;
  } catch (const CLI::ParseError &error) {
    throw makeUsageError(error, "see " + app.get_name() + " --help");
  }
  refuseEmptyValues(app);
  return true;
}

} // namespace ingot

#endif // INGOT_TOOLS_SUPPORT_COMMANDLINE_H
