// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Completion of command lines by shells, from the tables of options.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_COMMANDLINE_COMPLETION_H
#define INGOT_RUNTIME_CORE_COMMANDLINE_COMPLETION_H

#include <CLI/CLI.hpp>
#include <string>

namespace ingot::runtime {

/// Returns the script with which a shell (bash, zsh or fish) completes the
/// options, their values, commands and files of a program.
std::string makeCompletion(const CLI::App &app, const std::string &program,
                           const std::string &shell);

/// Adds --completion, which prints the script and exits as --version does.
void addCompletionOption(CLI::App &app);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_COMMANDLINE_COMPLETION_H
