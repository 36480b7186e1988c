// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The options of what is measured to make steps faster.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_TUNEOPTIONS_H
#define INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_TUNEOPTIONS_H

#include "runtime/core/Manifest.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace ingot::runtime {

struct CommandLine;

struct TuneOptions {
  /// Whether alternatives are measured, and whether the user asked for it.
  bool isOn = false, isAsked = false;
  /// The file of the choices; empty for one in the user's cache.
  std::string file;
  /// The seconds that are measured for.
  int64_t seconds = 60;
  /// The seconds of steps that are only timed (StepTimer); none for a run.
  std::optional<double> measureSeconds;
  /// Libraries may take algorithms whose results vary from run to run.
  bool nondeterministic = false;

  /// Adds the options to the table.
  void bind(CLI::App &app);
  /// A device that measures algorithms of libraries does so in the first step
  /// unless the user says otherwise. `observes` is whether the run is profiled
  /// or diagnosed.
  void setDefaults(const CommandLine &line, const Manifest &manifest,
                   bool observes);
};

/// Returns the seconds in an option's value `measure:SECONDS`; 0 if they are
/// not positive, nothing for other values.
std::optional<double> parseMeasuring(std::string_view value);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_TUNEOPTIONS_H
