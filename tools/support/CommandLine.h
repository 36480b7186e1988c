// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The parts that the command lines of the tools have in common.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_SUPPORT_COMMANDLINE_H
#define INGOT_TOOLS_SUPPORT_COMMANDLINE_H

#include "runtime/core/Error.h"
#include "runtime/core/commandline/Completion.h"
#include "runtime/core/commandline/ConfigFile.h"
#include "runtime/core/commandline/HelpFormatter.h"
#include "runtime/core/commandline/OptionChecks.h"
#include "runtime/core/commandline/Suggestions.h"
#include "tools/support/ManPage.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ingot {

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

/// Returns an error about what no option takes. `others` are options of another
/// program, which `whose` names.
inline runtime::Error explainUnknown(const CLI::App &app,
                                     const std::vector<std::string> &others,
                                     const std::string &whose) {
  std::vector<std::string> extras = app.remaining(/*recurse=*/true);
  std::string help = "see " + app.get_name() + " --help";
  auto found =
      std::find_if(extras.begin(), extras.end(), [](const std::string &word) {
        return word.starts_with("-");
      });
  if (found == extras.end())
    return runtime::usageError(extras.empty() ? "command line" : extras.front(),
                               "an argument that no option takes", help);
  std::string flag = found->substr(0, found->find('='));
  std::vector<std::string> known = runtime::listOptions(app);
  for (const CLI::App *command : app.get_subcommands())
    for (const std::string &name : runtime::listOptions(*command))
      known.push_back(name);
  std::string plain = flag;
  std::replace(plain.begin(), plain.end(), '_', '-');
  std::string own = runtime::findSimilar(plain, known);
  std::string other = runtime::findSimilar(plain, others);
  if (!own.empty() && other != plain)
    help = "did you mean " + own + "? " + help;
  else if (!other.empty())
    help = (other == flag ? "it" : other) + " is an option of " + whose;
  return runtime::usageError(flag, "unknown option", help);
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

/// Adds an option that prints a page and ends the program. It is for packages,
/// and in no help.
inline void addPageOption(CLI::App &app, const std::string &name,
                          std::function<std::string()> makePage) {
  app.add_flag_callback(
         name,
         [makePage = std::move(makePage)] {
           std::string page = makePage();
           page.pop_back();
           throw CLI::CallForVersion(page, 0);
         },
         "")
      ->trigger_on_parse()
      ->configurable(false)
      ->group("");
}

/// Parses the command line of a tool, whose --help ends with `variables`.
/// Returns false where --help or --version was all that was asked for, which is
/// printed then. Throws usageError; `others` and `whose` are for what it says
/// of options that this program has not.
inline bool
parseCommandLine(CLI::App &app, int argc, const char *const *argv,
                 std::vector<runtime::EnvironmentVariable> variables = {},
                 const std::vector<std::string> &others = {},
                 const std::string &whose = {}) {
  runtime::addCompletionOption(app);
  addPageOption(app, "--man-page", [&app, variables] {
    return makeManPage(app, app.get_name(), app.version(), variables);
  });
  app.formatter(std::make_shared<runtime::HelpFormatter>(std::move(variables)));
  for (CLI::App *command : app.get_subcommands({}))
    command->formatter(std::make_shared<runtime::HelpFormatter>());
  runtime::refuseEmptyWords(argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &success) {
    app.exit(success);
    return false;
  } catch (const CLI::ExtrasError &) {
    throw explainUnknown(app, others, whose);
  } catch (const CLI::ParseError &error) {
    throw makeUsageError(error, "see " + app.get_name() + " --help");
  }
  refuseEmptyValues(app);
  return true;
}

} // namespace ingot

#endif // INGOT_TOOLS_SUPPORT_COMMANDLINE_H
