// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/commandline/Completion.h"

#include "runtime/core/commandline/OptionView.h"

#include <cctype>
#include <fmt/format.h>
#include <vector>

using namespace ingot::runtime;

static std::string join(const std::vector<std::string> &words,
                        const char *separator = " ") {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : separator) + word;
  return text;
}

/// Replaces every character of `which` by itself after `before`.
static std::string escape(const std::string &text, const std::string &which,
                          const std::string &before) {
  std::string escaped;
  for (char c : text)
    escaped +=
        which.find(c) == std::string::npos ? std::string(1, c) : before + c;
  return escaped;
}

/// A word of a shell, whatever is in it.
static std::string quote(const std::string &text) {
  std::string quoted = "'";
  for (char c : text)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// The name of a function of a shell.
static std::string makeIdentifier(const std::string &program) {
  std::string name = "_";
  for (char c : program)
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

static std::vector<const CLI::App *> getCommands(const CLI::App &app) {
  std::vector<const CLI::App *> commands;
  for (const CLI::App *command :
       app.get_subcommands([](const CLI::App *) { return true; }))
    commands.push_back(command);
  return commands;
}

/// The options of the program and of all its commands.
static std::vector<OptionView> listAll(const CLI::App &app) {
  std::vector<OptionView> all = listViews(app);
  for (const CLI::App *command : getCommands(app))
    for (OptionView &view : listViews(*command))
      all.push_back(std::move(view));
  return all;
}

//===----------------------------------------------------------------------===//
// bash
//===----------------------------------------------------------------------===//

static std::string listNames(const std::vector<OptionView> &views) {
  std::vector<std::string> names;
  for (const OptionView &view : views)
    names.insert(names.end(), view.names.begin(), view.names.end());
  return join(names);
}

static std::string makeBash(const CLI::App &app, const std::string &program) {
  std::string name = makeIdentifier(program), values, commands, names;
  for (const OptionView &view : listAll(app)) {
    if (view.names.empty() || !view.takesValue)
      continue;
    std::string reply = !view.choices.empty()
                            ? "COMPREPLY=($(compgen -W " +
                                  quote(join(view.choices)) + " -- \"$word\"))"
                        : view.takesFile
                            ? "COMPREPLY=($(compgen -f -- \"$word\"))"
                            : "COMPREPLY=()";
    values += "    " + join(view.names, "|") + ") " + reply + "; return ;;\n";
  }
  for (const CLI::App *command : getCommands(app)) {
    names += (names.empty() ? "" : " ") + command->get_name();
    commands += "    " + command->get_name() +
                ") options=" + quote(listNames(listViews(*command))) + " ;;\n";
  }
  std::string text = "# Completion of bash for " + program + ".\n" + name +
                     "() {\n"
                     "  local word=${COMP_WORDS[COMP_CWORD]}\n"
                     "  local before=${COMP_WORDS[COMP_CWORD-1]}\n"
                     "  # bash takes --option=value apart.\n"
                     "  if [ \"$word\" = = ]; then\n"
                     "    word=\n"
                     "  elif [ \"$before\" = = ]; then\n"
                     "    before=${COMP_WORDS[COMP_CWORD-2]}\n"
                     "  fi\n"
                     "  compopt -o filenames 2>/dev/null\n"
                     "  case $before in\n" +
                     values +
                     "  esac\n"
                     "  local options=" +
                     quote(listNames(listViews(app))) + "\n";
  if (!commands.empty())
    text += "  case ${COMP_WORDS[1]} in\n" + commands +
            "  esac\n"
            "  if [ \"$COMP_CWORD\" = 1 ]; then options=\"$options " +
            names +
            "\"; fi\n"
            "  if [ \"$COMP_CWORD\" = 1 ] || [[ $word == -* ]]; then\n";
  else
    text += "  if [[ $word == -* ]]; then\n";
  return text +
         "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -F " +
         name + " " + quote(program) + "\n";
}

//===----------------------------------------------------------------------===//
// zsh
//===----------------------------------------------------------------------===//

static std::string makeZsh(const CLI::App &app, const std::string &program) {
  std::string specs, names;
  auto add = [&](const OptionView &view) {
    std::string value = view.value.empty() ? "VALUE" : view.value, action;
    if (!view.choices.empty())
      action = "(" + join(view.choices) + ")";
    else if (view.takesFile)
      action = "_files";
    std::string description = escape(view.description, "[]:\\", "\\");
    if (view.names.empty()) {
      specs +=
          " \\\n  " + quote("*:" + escape(description, ":", "") + ":_files");
      return;
    }
    for (const std::string &option : view.names) {
      std::string spec = "*" + option;
      if (view.takesValue)
        spec += option.starts_with("--") ? "=" : "+";
      spec += "[" + description + "]";
      if (view.takesValue)
        spec += ":" + escape(value, ":\\", "\\") + ":" + action;
      specs += " \\\n  " + quote(spec);
    }
  };
  for (const CLI::App *command : getCommands(app))
    names += (names.empty() ? "" : " ") + command->get_name();
  if (!names.empty())
    specs += " \\\n  " + quote("1:command:(" + names + ")") +
             " \\\n  '*:file:_files'";
  for (const OptionView &view : listAll(app))
    if (names.empty() || !view.names.empty())
      add(view);
  return "#compdef " + program + "\n# Completion of zsh for " + program +
         ".\n_arguments" + specs + "\n";
}

//===----------------------------------------------------------------------===//
// fish
//===----------------------------------------------------------------------===//

static std::string quoteForFish(const std::string &text) {
  return "'" + escape(text, "\\'", "\\") + "'";
}

static std::string makeFish(const CLI::App &app, const std::string &program) {
  std::string text = "# Completion of fish for " + program + ".\n";
  std::string start = "complete -c " + quoteForFish(program);
  auto add = [&](const OptionView &view, const std::string &condition) {
    if (view.names.empty())
      return;
    text += start + condition;
    for (const std::string &name : view.names)
      text += name.starts_with("--") ? " -l " + name.substr(2)
                                     : " -s " + name.substr(1);
    if (!view.choices.empty())
      text += " -x -a " + quoteForFish(join(view.choices));
    else if (view.takesValue)
      text += view.takesFile ? " -r -F" : " -x";
    text += " -d " + quoteForFish(view.description) + "\n";
  };
  for (const OptionView &view : listViews(app))
    add(view, "");
  for (const CLI::App *command : getCommands(app)) {
    text += start + " -f -n __fish_use_subcommand -a " + command->get_name() +
            " -d " + quoteForFish(command->get_description()) + "\n";
    for (const OptionView &view : listViews(*command))
      add(view,
          " -n '__fish_seen_subcommand_from " + command->get_name() + "'");
  }
  return text;
}

std::string ingot::runtime::makeCompletion(const CLI::App &app,
                                           const std::string &program,
                                           const std::string &shell) {
  return shell == "bash"  ? makeBash(app, program)
         : shell == "zsh" ? makeZsh(app, program)
                          : makeFish(app, program);
}

void ingot::runtime::addCompletionOption(CLI::App &app) {
  app.add_option_function<std::string>(
         "--completion",
         [&app](const std::string &shell) {
           std::string name = app.get_name();
           std::string text =
               makeCompletion(app, name.substr(name.rfind('/') + 1), shell);
           // The program ends the last line.
           text.pop_back();
           throw CLI::CallForVersion(text, 0);
         },
         "Print the script with which this shell completes command lines of "
         "this program, and exit")
      ->type_name("bash|zsh|fish")
      ->check(CLI::Validator(
          [](std::string &shell) -> std::string {
            if (shell == "bash" || shell == "zsh" || shell == "fish")
              return {};
            return fmt::format("'{}' is none of bash, zsh and fish", shell);
          },
          ""))
      ->trigger_on_parse()
      ->configurable(false);
}
