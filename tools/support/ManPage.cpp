// SPDX-License-Identifier: Apache-2.0

#include "tools/support/ManPage.h"

#include "runtime/core/Error.h"
#include "runtime/core/commandline/OptionView.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <sstream>

using namespace ingot;
using namespace ingot::runtime;

/// Text for troff: nothing in it is a request or an escape, and dashes can be
/// copied to a shell.
static std::string escape(const std::string &text) {
  std::string escaped;
  for (char c : text)
    escaped += c == '\\'   ? "\\e"
               : c == '-'  ? "\\-"
               : c == '\'' ? "\\(aq"
               : c == '`'  ? "\\(ga"
               : c == '^'  ? "\\(ha"
               : c == '~'  ? "\\(ti"
                           : std::string(1, c);
  return escaped.starts_with(".") ? "\\&" + escaped : escaped;
}

static void addViews(std::string &text, const std::vector<OptionView> &views,
                     const std::string &firstGroup) {
  std::string group = firstGroup;
  for (const OptionView &view : views) {
    if (view.group != group)
      text += ".SS " + escape(group = view.group) + "\n";
    std::string heading;
    for (const std::string &name : view.names)
      heading += (heading.empty() ? "\\fB" : ", \\fB") + escape(name) + "\\fR";
    std::string value = view.value;
    if (!view.choices.empty() && value.find('|') == std::string::npos) {
      std::string words;
      for (const std::string &choice : view.choices)
        words += (words.empty() ? "" : "|") + choice;
      value += (value.empty() ? "" : ":") + words;
    }
    if (!value.empty())
      heading += std::string(heading.empty() ? "" : " ") + "\\fI" +
                 escape(value) + "\\fR";
    text += ".TP\n" + heading + "\n" + escape(view.description) + "\n";
  }
}

/// The options in groups, each of which is in one place.
static std::vector<OptionView> sortByGroup(const CLI::App &app) {
  std::vector<OptionView> all = listViews(app), sorted;
  std::vector<std::string> groups;
  for (const OptionView &view : all)
    if (std::find(groups.begin(), groups.end(), view.group) == groups.end())
      groups.push_back(view.group);
  for (const std::string &group : groups)
    for (const OptionView &view : all)
      if (view.group == group && !view.names.empty())
        sorted.push_back(view);
  return sorted;
}

/// The arguments without names.
static std::vector<OptionView> listArguments(const CLI::App &app) {
  std::vector<OptionView> arguments;
  for (const CLI::Option *option : app.get_options())
    if (option->get_lnames().empty() && option->get_snames().empty()) {
      OptionView &view = arguments.emplace_back(*option);
      view.group = "Options";
      view.value = option->get_name(/*positional=*/true);
    }
  return arguments;
}

static std::string makeSynopsis(const CLI::App &app,
                                const std::string &program) {
  std::string text = ".B " + escape(program) + "\n[\\fIOPTIONS\\fR]";
  if (!app.get_subcommands([](const CLI::App *) { return true; }).empty())
    text += " \\fICOMMAND\\fR";
  for (const OptionView &view : listArguments(app))
    text += " \\fI" + escape(view.value) + "\\fR";
  return text + "\n";
}

std::string
ingot::makeManPage(const CLI::App &app, const std::string &program,
                   const std::string &release,
                   const std::vector<EnvironmentVariable> &variables) {
  std::string upper, what = app.get_description();
  for (char c : program)
    upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  // The first sentence is the name's.
  std::string first = what.substr(0, what.find(". "));
  if (first.ends_with("."))
    first.pop_back();
  if (!first.empty())
    first[0] = static_cast<char>(
        std::tolower(static_cast<unsigned char>(first.front())));
  // Names of options are in one piece: no word is hyphenated.
  std::string text = fmt::format(
      ".TH {} 1 \"\" \"{}\" \"Ingot\"\n.nh\n.SH NAME\n{} \\- {}\n"
      ".SH SYNOPSIS\n{}.SH DESCRIPTION\n{}\n",
      escape(upper), escape(release.substr(0, release.find('\n'))),
      escape(program), escape(first), makeSynopsis(app, program), escape(what));
  std::vector<OptionView> arguments = listArguments(app);
  text += ".SH OPTIONS\n";
  addViews(text, arguments, "Options");
  addViews(text, sortByGroup(app), "Options");
  auto commands = app.get_subcommands([](const CLI::App *) { return true; });
  if (!commands.empty())
    text += ".SH COMMANDS\n";
  for (const CLI::App *command : commands) {
    text += ".SS " + escape(command->get_name()) + "\n" +
            escape(command->get_description()) + "\n";
    addViews(text, listArguments(*command), "Options");
    addViews(text, sortByGroup(*command), "Options");
  }
  if (!variables.empty())
    text += ".SH ENVIRONMENT\n";
  for (const auto &[name, description] : variables)
    text += ".TP\n\\fB" + escape(name) + "\\fR\n" + escape(description) + "\n";
  text += ".SH EXIT STATUS\n";
  for (auto [status, meaning] :
       {std::pair(ExitCode::Done, "It did what was asked for."),
        std::pair(ExitCode::Failed, "It failed while it ran."),
        std::pair(ExitCode::Usage, "It was called in a wrong way."),
        std::pair(ExitCode::BadInput,
                  "The model, the data or a checkpoint is at fault."),
        std::pair(ExitCode::LostRank,
                  "A trainer does not reach another rank of its run.")})
    text += fmt::format(".TP\n.B {}\n{}\n", static_cast<int>(status),
                        escape(meaning));
  if (std::string footer = app.get_footer(); !footer.empty()) {
    std::istringstream lines(footer);
    text += ".SH EXAMPLES\n.nf\n";
    for (std::string line; std::getline(lines, line);)
      if (line != "Examples:")
        text += escape(line) + "\n";
    text += ".fi\n";
  }
  return text;
}
