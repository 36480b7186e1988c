// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// --tune on CPUs: before the run, the trainer runs some steps with other
// numbers of threads, places for them, and ways to make batches. What is
// fastest is kept for this machine, model and data.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_TUNE_TUNE_H
#define INGOT_RUNTIME_TRAINER_TUNE_TUNE_H

#include "runtime/trainer/hooks/StepTimer.h"
#include "runtime/trainer/options/Options.h"

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

class Console;

/// Variables of the environment like OMP_NUM_THREADS=2, and options like
/// --workers=2.
using Settings = std::vector<std::string>;

/// A setting that --tune may choose, with its values.
struct TuneAxis {
  /// Whether it matters only where steps wait for data.
  bool isForData = false;
  std::vector<std::string> alternatives;
};

/// The result of --tune.
struct Tuned {
  Settings settings;
  /// The time of a step without the settings and with them: of two
  /// measurements, those that differ least.
  double beforeMs = 0, afterMs = 0;
  /// Whether the first losses have the same bits.
  bool isSame = true;
  /// Whether time was left when all was measured.
  bool isComplete = true;
};

/// Finds the fastest settings, one axis after the other, within a time.
/// `measure` runs steps with settings; it returns nothing if they fail. `say`
/// takes a line about each.
class TuneSearch {
public:
  using Measure = std::function<std::optional<StepTimes>(const Settings &)>;

  TuneSearch(Measure measure, std::function<void(const std::string &)> say,
             std::chrono::duration<double> most);

  /// Nothing if the run as it is fails.
  std::optional<Tuned> find(const std::vector<TuneAxis> &axes);

private:
  std::optional<StepTimes> time(const Settings &settings);
  /// Whether there is time for as many measurements as are left to do.
  bool hasTime(int more) const;
  /// Measures the best again, against the run as it is: what is not faster both
  /// times is not the best.
  void confirm();

  Measure measure;
  std::function<void(const std::string &)> say;
  std::chrono::steady_clock::time_point begin;
  std::chrono::duration<double> most, longest{0};
  StepTimes first, fastest;
  Settings best;
};

/// Formats settings and times as they are kept, and reads that; nothing if it
/// is none.
std::string formatTuned(const Tuned &tuned);
std::optional<Tuned> parseTuned(std::string_view text);

/// Runs the program again with what is kept or found for it, in place of this
/// process; returns if there is nothing to change. `manifest` is the text of
/// the manifest, `arguments` those of this process. Throws usageError.
void tuneOnHost(const Options &options, const Manifest &manifest,
                std::string_view text,
                const std::vector<std::string> &arguments, Console &console);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_TUNE_TUNE_H
