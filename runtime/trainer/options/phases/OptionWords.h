// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The words of a trainer's command line.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_OPTIONWORDS_H
#define INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_OPTIONWORDS_H

#include <map>
#include <set>
#include <string>
#include <vector>

namespace ingot::runtime {

/// The words of each option by its name without dashes.
using OptionWords = std::map<std::string, std::vector<std::string>>;

struct CommandLine {
  /// All words, the program's name first.
  std::vector<std::string> words;
  /// The options on the command line and in the file of --config, with their
  /// dashes.
  std::set<std::string> given;
  /// The file of --config.
  std::string config;
  /// The words of all options that are given or have a default.
  OptionWords configuration;
  /// The given options that a resumed run inherits.
  OptionWords shaping;

  bool isGiven(const std::string &option) const {
    return given.count(option) != 0;
  }
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_OPTIONWORDS_H
