// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Suggestions for unknown options.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_COMMANDLINE_SUGGESTIONS_H
#define INGOT_RUNTIME_CORE_COMMANDLINE_SUGGESTIONS_H

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace ingot::runtime {

/// Returns the one of the options that is most like the flag: misspelled by a
/// letter or two, with words more or less (--batch-size, --num-workers), or its
/// initials (--learning-rate). Empty if none is.
std::string findSimilar(const std::string &flag,
                        const std::vector<std::string> &options);

/// Returns the long names of all options, with their dashes.
std::vector<std::string> listOptions(const CLI::App &app);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_COMMANDLINE_SUGGESTIONS_H
