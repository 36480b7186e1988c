// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The description of a checkpoint's run, and its file checkpoint.json.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CHECKPOINT_CHECKPOINTINFO_H
#define INGOT_RUNTIME_CHECKPOINT_CHECKPOINTINFO_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// A place in the order of samples: an epoch, and how many samples of it come
/// before, of each shape.
struct SamplePosition {
  int64_t epoch = 0;
  std::vector<int64_t> samples;

  /// The samples of all shapes that come before.
  int64_t getSamples() const;
};

/// How a run trains, which a resumed run inherits.
struct RunSettings {
  /// The values of the optimizer's hyperparameters.
  std::map<std::string, double> hyperparameters;
  /// The name of the schedule, and its steps of warm-up.
  std::string schedule = "constant";
  int64_t warmup = 0;
  /// The learning rate that the schedule does not fall below.
  double minLr = 0;
  /// The length of the run in steps; it is also that of the schedule.
  int64_t totalSteps = 0;
  /// The number of ranks, and the samples that all of them take in a step.
  int64_t ranks = 1, stepSamples = 0;
  /// The next samples; absent in checkpoints of earlier versions.
  std::optional<SamplePosition> position = std::nullopt;
  /// Where samples of files of tokens begin: `fixed`, `random`, or `auto`.
  std::string tokenOffsets = "fixed";
  /// The batches of an evaluation; 0 for all.
  int64_t evalBatches = 0;
  /// The names of the classes of folders of pictures; empty for other data.
  std::vector<std::string> classes = {};
  /// The most tokens of a step; 0 without a limit.
  int64_t batchTokens = 0;
  /// The decay of the moving average of the weights; 0 without one.
  double ema = 0;
  /// The factor by which going back after steps that were not finite has
  /// reduced the learning rate.
  double rateScale = 1;
  /// The best evaluation so far; the metric is empty without one.
  struct Best {
    std::string metric;
    double value = 0;
    /// The step of it; 0 before the first one.
    int64_t step = 0;
    /// The evaluations since the last one that was better by enough, and its
    /// value.
    int64_t since = 0;
    double reference = 0;
  } best;
  /// Where the learning rate follows evaluations; the metric is empty
  /// elsewhere.
  struct Plateau {
    std::string metric;
    /// The best value, once there is one, and the evaluations since then or
    /// since the rate fell.
    std::optional<double> best = std::nullopt;
    int64_t since = 0;
    /// The factor of the learning rate.
    double factor = 1;
  } plateau;
  /// How the trainer was compiled (Manifest's `command` and `recipe`); empty in
  /// checkpoints of earlier versions.
  std::string command;
  std::vector<std::string> recipe = {};
  /// The threads of steps, whose number decides the last bits of some sums; 0
  /// where they are not the host's.
  int64_t threads = 0;
  /// Other options that shape the run, by their names without dashes.
  std::map<std::string, std::vector<std::string>> options = {};
};

/// The position of a run, which together with the state determines the rest of
/// it.
struct CheckpointInfo {
  int64_t step = 0, seed = 0, samples = 0;
  bool shuffle = true;
  /// Absent in checkpoints of earlier versions.
  std::optional<RunSettings> settings = std::nullopt;
  /// The states that the checkpoint leaves to the weights of the trainer, which
  /// no step changes, with the CRC-32 of their bytes.
  std::map<std::string, uint32_t> base = {};
};

/// The content of checkpoint.json.
struct CheckpointFile {
  CheckpointInfo info;
  uint32_t stateCrc = 0;
  std::vector<uint32_t> shardCrcs;
  /// The checksum of the file of states that do not change, if there is one.
  std::optional<uint32_t> constantCrc = std::nullopt;
};

/// Returns the bytes of checkpoint.json, the only ones that `parseInfo` takes
/// for this content.
std::string formatInfo(const CheckpointFile &file);

/// Reads checkpoint.json, which `path` names in errors. Throws badInput.
CheckpointFile parseInfo(std::string_view bytes, const std::string &path);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CHECKPOINT_CHECKPOINTINFO_H
