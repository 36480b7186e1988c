// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The options of a trainer.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_OPTIONS_OPTIONS_H
#define INGOT_RUNTIME_TRAINER_OPTIONS_OPTIONS_H

#include "runtime/core/Manifest.h"
#include "runtime/data/recipes/Recipe.h"
#include "runtime/observe/profile/ProfileSchedule.h"
#include "runtime/trainer/schedule/Schedule.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ingot::runtime {

/// The effect on the run of a step whose loss or gradients are not finite.
enum class NanPolicy { Stop, Skip, Rollback };

struct Options {
  /// The words of the command line, the program's name first.
  std::vector<std::string> commandLine;
  /// The options on the command line, whatever their values.
  std::set<std::string> given;
  std::vector<std::string> data, evalData;
  /// How inputs are made of the fields of samples.
  Recipes recipes;
  /// The most tokens of a step, padding and all ranks included.
  std::optional<int64_t> batchTokens;
  /// Whether inputs without a recipe get one for packed sequences.
  bool pack = false;
  /// The threads that make batches ahead of the step; none for as many as it
  /// needs.
  std::optional<int64_t> workers;
  /// The batches that they make ahead; none for what fits some memory.
  std::optional<int64_t> prefetch;
  int64_t skipBad = 0;
  /// The folder of decoded pictures, empty for none, and the most MiB in it.
  std::string cache;
  int64_t cacheMiB = 16384;
  std::optional<int64_t> epochs, steps, evalEvery, saveEvery;
  /// The batches of an evaluation; none for all.
  std::optional<int64_t> evalBatches;
  bool noShuffle = false;
  /// The number of samples of a stream of which each is taken at random; none
  /// for the order in which they come.
  std::optional<int64_t> shuffleWindow;
  /// Where samples of files of tokens begin: "fixed", "random", or empty for
  /// windows that move from epoch to epoch.
  std::string tokenOffsets;
  /// The default is 0, or the checkpoint's seed when resuming.
  std::optional<int64_t> seed;
  /// The values of all hyperparameters of the manifest.
  std::map<std::string, double> hyperparameters;
  ScheduleShape schedule;
  /// Steps of warm-up; with `warmupPart` they are that part of the run.
  int64_t warmup = 0;
  std::optional<double> warmupPart;
  double minLr = 0;
  /// The decay of the moving average of the weights.
  std::optional<double> ema;
  /// The evaluations in a row without improvement that end the run, and by how
  /// much a metric has to be better to count as improved.
  std::optional<int64_t> earlyStop;
  double minDelta = 0;
  /// The weights that are exported and predicted with: "best", "last", or empty
  /// for the best where the run looks for it.
  std::string exportWeights;
  /// Whether the run evaluates and does nothing else.
  bool evaluate = false;
  NanPolicy nan = NanPolicy::Stop;
  /// Whether the checkpoints in the folder of --save make way for this run's.
  bool overwrite = false;
  /// The checkpoints that are kept besides the best.
  int64_t keep = 2;
  /// The metric of the checkpoint that is kept apart; empty without one.
  std::string best;
  /// The folder of --save, on all ranks.
  std::string checkpoints;
  /// Lines of the log are written for every such step.
  int64_t logEvery = 1;
  /// The MiB after which a log becomes FILE.1 and begins anew; 0 for never.
  int64_t logMostMb = 0;
  /// The texts of the command line for the options above.
  std::string scheduleText, warmupText, nanText, noDecay;
  bool printConfig = false;
  /// The values of all options by their names without dashes.
  std::map<std::string, std::vector<std::string>> configuration;
  /// The given options that a resumed run inherits.
  std::map<std::string, std::vector<std::string>> shaping;
  std::string config, log, save, resume, init, exportPath, predict, profile,
      tensorboard;
  /// Histograms are written in every such step; none without it.
  std::optional<int64_t> histogramEvery;
  /// The steps that --profile records, and what the command line has for it.
  ProfileSchedule profileSchedule;
  std::string profileSteps;
  /// The loss scale of the first step, with dynamic loss scaling only.
  std::optional<double> lossScale;
  /// One of "", "nan" and "stats".
  std::string watch;
  bool checkMemory = false;
  /// One of "", "text" and "json".
  std::string inspect;
  /// One of "", "report", "apply" and "json".
  std::string diagnose;
  /// The file that --tune keeps choices in, `cache` for the user's cache, or
  /// empty without --tune.
  std::string tune;
  /// The seconds that --tune measures for.
  int64_t tuneSeconds = 60;
  /// The seconds of steps that are only timed (StepTimer); none for a run.
  std::optional<double> measureSeconds;
  /// Libraries may take algorithms whose results vary from run to run.
  bool nondeterministic = false;
  int64_t ranks = 1;
  /// The seconds that ranks wait for each other.
  int64_t commTimeout = 600;
  /// The prefix of the files to which each rank writes its last collectives if
  /// a run fails.
  std::string commRecord;

  /// Whether the command line has the option.
  bool isGiven(const std::string &option) const {
    return given.count(option) != 0;
  }
  /// Whether no step is to be taken.
  bool evaluatesOnly() const {
    return evaluate || steps.value_or(epochs.value_or(1)) == 0;
  }
  /// Whether the run looks for its best evaluation.
  bool seeksBest() const {
    return earlyStop || !best.empty() || exportWeights == "best";
  }
  /// The file beside the log that says how the run was started; empty without a
  /// log.
  std::string getConfigurationPath() const {
    return log.empty() ? "" : log + ".toml";
  }
  /// The file of `rank` for --comm-record.
  std::string getRecordPath(int64_t rank) const {
    return commRecord + "." + std::to_string(rank) + ".jsonl";
  }
  /// Makes a rank other than 0 write no files, except for its shards of
  /// checkpoints.
  void writeNothing(bool hasShards) {
    for (std::string *path :
         {&log, &exportPath, &predict, &profile, &tensorboard})
      path->clear();
    given.erase("--log");
    given.erase("--export");
    given.erase("--predict");
    given.erase("--profile");
    given.erase("--tensorboard");
    if (!hasShards) {
      save.clear();
      given.erase("--save");
    }
  }
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_OPTIONS_OPTIONS_H
