// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Manual pages, from the tables of options.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_SUPPORT_MANPAGE_H
#define INGOT_TOOLS_SUPPORT_MANPAGE_H

#include "runtime/core/commandline/HelpFormatter.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace ingot {

/// Returns the manual page of a program in the macros of man(7). `release` is
/// its name and version.
std::string
makeManPage(const CLI::App &app, const std::string &program,
            const std::string &release,
            const std::vector<runtime::EnvironmentVariable> &variables);

} // namespace ingot

#endif // INGOT_TOOLS_SUPPORT_MANPAGE_H
