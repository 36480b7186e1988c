// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The values of --tune.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_OPTIONS_TUNEOPTION_H
#define INGOT_RUNTIME_TRAINER_OPTIONS_TUNEOPTION_H

#include "runtime/trainer/options/Options.h"

#include <optional>
#include <string_view>

namespace ingot::runtime {

/// Tells the settings off and measure:SECONDS of --tune apart from the name of
/// a file; a run that is measured is limited to its steps. On a GPU, --tune is
/// on by default. Throws usageError.
void readTune(Options &options, const Manifest &manifest);

/// Returns the seconds in an option's value `measure:SECONDS`; 0 if they are
/// not positive, nothing for other values.
std::optional<double> parseMeasuring(std::string_view value);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_OPTIONS_TUNEOPTION_H
