// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The options of what a run tells of itself.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_OBSERVEOPTIONS_H
#define INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_OBSERVEOPTIONS_H

#include "runtime/observe/profile/ProfileSchedule.h"

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace ingot::runtime {

/// The values that --watch looks for among those that kernels write.
enum class WatchKind { Nan, Stats };

struct ObserveOptions {
  std::optional<std::string> log, profile, tensorboard;
  /// Lines of the log are written for every such step.
  int64_t logEvery = 1;
  /// Where there is no terminal, every such step prints a line; none for those
  /// of the log if --log-every is given.
  std::optional<int64_t> printEvery;
  /// The MiB after which a log becomes FILE.1 and begins anew; 0 for never.
  int64_t logMostMb = 0;
  /// The steps that are profiled; none for all.
  std::optional<ProfileSchedule> profileSchedule;
  /// Histograms are written in every such step; none without it.
  std::optional<int64_t> histogramEvery;
  std::optional<WatchKind> watch;
  bool checkMemory = false;

  /// Adds the options to the table.
  void bind(CLI::App &app);
  /// Leaves out all files.
  void writeNothing();
  /// The file beside the log that says how the run was started; empty without a
  /// log.
  std::string getConfigurationPath() const { return log ? *log + ".toml" : ""; }
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_OBSERVEOPTIONS_H
