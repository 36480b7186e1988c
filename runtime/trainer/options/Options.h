// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The trainer's command line. One table makes the parser and --help.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_OPTIONS_OPTIONS_H
#define INGOT_RUNTIME_TRAINER_OPTIONS_OPTIONS_H

#include "runtime/core/Manifest.h"
#include "runtime/trainer/options/Schedule.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ingot::runtime {

struct Options {
  std::vector<std::string> data, evalData;
  std::optional<int64_t> epochs, steps, evalEvery, saveEvery;
  bool noShuffle = false;
  /// 0 when not given, or the checkpoint's when resuming.
  std::optional<int64_t> seed;
  /// Every hyperparameter of the manifest, with the value in force.
  std::map<std::string, double> hyperparameters;
  ScheduleKind schedule = ScheduleKind::Constant;
  int64_t warmup = 0;
  std::string log, save, resume, init, exportPath, predict, profile;
  /// Of the first step; with dynamic loss scaling only.
  std::optional<double> lossScale;
  /// Empty, "nan" or "stats".
  std::string watch;
  bool checkMemory = false;
  /// Empty, "text" or "json".
  std::string inspect;
  /// The file to keep choices in, `cache` for the user's; empty without.
  std::string tune;
  int64_t ranks = 1;
  /// Seconds that ranks wait for each other.
  int64_t commTimeout = 600;
  /// What each rank's last collectives are written to if a run fails.
  std::string commRecord;

  /// Leaves files to rank 0, except its shards of checkpoints.
  void writeNothing(bool hasShards) {
    for (std::string *path : {&log, &exportPath, &predict, &profile})
      path->clear();
    if (!hasShards)
      save.clear();
  }
};

/// What the command line asks for; nothing if it was --help or --version, whose
/// answer is in `answer`.
struct ParsedOptions {
  std::optional<Options> options;
  std::string answer;
};

/// Parses and checks the command line. Throws usageError.
ParsedOptions parseOptions(int argc, const char *const *argv,
                           const Manifest &manifest);

/// Refuses an environment with more than one rank, which needs a trainer
/// compiled with --data-parallel. Throws usageError.
void checkRanks();

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_OPTIONS_OPTIONS_H
