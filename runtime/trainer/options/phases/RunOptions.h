// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The options of how a run goes: its length, its learning rates, its end.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_RUNOPTIONS_H
#define INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_RUNOPTIONS_H

#include "runtime/core/Manifest.h"
#include "runtime/trainer/schedule/Schedule.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ingot::runtime {

struct CommandLine;

/// The effect on the run of a step whose loss or gradients are not finite.
enum class NanPolicy { Stop, Skip, Rollback };

/// How ranges of what is quantized are chosen of the values that are seen: all
/// of them, those without the outermost, or with the least mean square error.
enum class RangeChoice { MinMax, Percentile, Error };

struct RunOptions {
  std::optional<int64_t> epochs, steps;
  /// Whether the run evaluates and does nothing else.
  bool evaluate = false;
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
  /// The seconds after which the run ends with the step under way.
  std::optional<double> maxTime;
  NanPolicy nan = NanPolicy::Stop;
  /// The threads of steps; those of OMP_NUM_THREADS without it.
  std::optional<int64_t> threads;
  /// The loss scale of the first step, with dynamic loss scaling only.
  std::optional<double> lossScale;
  /// The batches by which scales are set before the first step, of models that
  /// are trained to be quantized.
  std::optional<int64_t> calibrate;
  std::optional<RangeChoice> calibration;

  /// Adds the options to the table.
  void bind(CLI::App &app, const Manifest &manifest);
  /// Sets hyperparameters to the defaults of the manifest.
  void setDefaults(const Manifest &manifest);
  /// Sets the hyperparameters of groups, when all options are known. Adds them
  /// to those that are given. Throws usageError.
  void finish(CommandLine &line, const Manifest &manifest);
  /// Throws usageError if the trainer cannot do what is asked for.
  void check(const Manifest &manifest) const;

  /// Whether no step is to be taken.
  bool evaluatesOnly() const {
    return evaluate || steps.value_or(epochs.value_or(1)) == 0;
  }

private:
  void bindRates(CLI::App &app);
  void bindCalibration(CLI::App &app);
  void bindHyperparameters(CLI::App &app, const Manifest &manifest);

  /// The words of --group, and whether norms and biases are not to decay.
  std::vector<std::string> groups;
  bool keepsVectors = false;
};

/// Whether a hyperparameter is that of a group of parameters, like `lr.head`.
bool isOfGroup(const std::string &hyperparameter);

/// Whether norms and biases have no weight decay.
bool haveVectorsNoDecay(const std::map<std::string, double> &hyperparameters);

/// Returns the words of --group that set the hyperparameters of groups.
std::vector<std::string>
formatGroups(const std::map<std::string, double> &hyperparameters);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_RUNOPTIONS_H
