// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Options in a file: --config reads what --print-config writes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_COMMANDLINE_CONFIGFILE_H
#define INGOT_RUNTIME_CORE_COMMANDLINE_CONFIGFILE_H

#include "runtime/core/Error.h"

#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ingot::runtime {

/// Reads the TOML of a configuration: `name = value`, one option a line or an
/// array over several. Comments may follow values, tables serve as headings
/// only, words need no quotation marks, and names may have underscores for
/// dashes.
class ConfigReader : public CLI::ConfigTOML {
public:
  std::vector<CLI::ConfigItem> from_config(std::istream &input) const override;
};

/// Adds --config, and --print-config, which sets the flag.
void addConfigOptions(CLI::App &app, bool &printConfig,
                      const std::string &group);

/// Returns what is wrong with the file of --config; nothing for other errors.
std::optional<Error> explainConfigError(const CLI::ParseError &error);

/// The values of options by their names without dashes, several for a list.
using Configuration = std::map<std::string, std::vector<std::string>>;

/// Returns the values of all options that were given or have a default, without
/// those that print something and exit.
Configuration collectConfiguration(const CLI::App &app);

/// Formats the options as TOML that --config reads, one a line.
std::string formatConfiguration(const Configuration &values);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_COMMANDLINE_CONFIGFILE_H
