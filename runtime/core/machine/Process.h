// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Runs another program, and describes the machine that it runs on.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_MACHINE_PROCESS_H
#define INGOT_RUNTIME_CORE_MACHINE_PROCESS_H

#include <string>
#include <vector>

namespace ingot::runtime {

/// The text that a program wrote to stdout, and its status as waitpid() gives
/// it.
struct ProcessOutput {
  std::string text;
  int status = 0;
};

/// Runs a program to its end. `arguments` begin with its name; `variables`,
/// words like NAME=VALUE, replace those of the environment. What it writes to
/// stderr is dropped if `isQuiet`. Throws failure that names `where`.
ProcessOutput runProcess(const std::string &program,
                         const std::vector<std::string> &arguments,
                         const std::vector<std::string> &variables,
                         bool isQuiet, const std::string &where);

/// Returns the name of this machine's processors and how many of them the
/// process may use, in a line without tabs.
std::string describeProcessors();

/// Returns that line and the features of the processors, as the system lists
/// them: other hardware has another text.
std::string describeHardware();

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_MACHINE_PROCESS_H
