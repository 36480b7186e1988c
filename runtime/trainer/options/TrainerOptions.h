// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The trainer's command line. The parser and --help are made from one table.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_OPTIONS_TRAINEROPTIONS_H
#define INGOT_RUNTIME_TRAINER_OPTIONS_TRAINEROPTIONS_H

#include "runtime/core/Manifest.h"
#include "runtime/trainer/options/Options.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ingot::runtime {

struct EnvironmentVariable;

/// The parsed command line: options, or the output of --help or --version in
/// `answer`.
struct ParsedOptions {
  std::optional<Options> options;
  std::string answer;
};

/// Parses and checks the command line. Throws usageError.
ParsedOptions parseOptions(int argc, const char *const *argv,
                           const Manifest &manifest);

/// The options that shape a run, by their names without dashes, which a resumed
/// run inherits as they were written. Others have fields of their own in
/// RunSettings.
bool isInherited(const std::string &name);

/// Sets options as a command line of these words does, which is known to be
/// right. Throws badInput if this trainer has no such option.
void setInherited(Options &options, const Manifest &manifest,
                  const std::map<std::string, std::vector<std::string>> &words);

/// The options on the command line that --evaluate leaves without effect, in
/// words; empty if there are none.
std::string listWithoutEffect(const Options &options);

/// The options that trainers may have, with their dashes.
std::vector<std::string> listTrainerOptions();

/// Calls `view` with the table of all of them, and the variables of the
/// environment, for documents.
void viewTrainerOptions(
    const std::function<void(const CLI::App &,
                             const std::vector<EnvironmentVariable> &)> &view);

/// Throws usageError if the environment has more than one rank, which requires
/// a trainer compiled with --data-parallel.
void checkRanks();

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_OPTIONS_TRAINEROPTIONS_H
