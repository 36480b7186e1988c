// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The file beside the log with the options in force, which --config reads.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_OPTIONS_CONFIGURATION_H
#define INGOT_RUNTIME_TRAINER_OPTIONS_CONFIGURATION_H

#include "runtime/trainer/options/phases/OptionWords.h"

#include <string>
#include <string_view>

namespace ingot::runtime {

/// Writes options as TOML that --config reads, below the line that describes
/// the run and the time as comments. Throws failure.
void writeConfiguration(const std::string &path, const std::string &header,
                        const OptionWords &options);

/// Whether a file that begins so was written by writeConfiguration.
bool isConfiguration(std::string_view begin);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_OPTIONS_CONFIGURATION_H
