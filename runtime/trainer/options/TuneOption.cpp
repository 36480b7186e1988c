// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/options/TuneOption.h"

#include "runtime/core/Error.h"
#include "runtime/core/commandline/OptionChecks.h"

#include <cmath>

using namespace ingot::runtime;

std::optional<double> ingot::runtime::parseMeasuring(std::string_view value) {
  constexpr std::string_view name = "measure:";
  if (!value.starts_with(name))
    return std::nullopt;
  double seconds = 0;
  bool isNumber = parseWhole(value.substr(name.size()), seconds);
  return isNumber && std::isfinite(seconds) && seconds > 0 ? seconds : 0;
}

/// Turns off everything in a run except its steps, which are timed.
static void limitToSteps(Options &options) {
  if (options.data.empty())
    throw usageError("--tune", "needs --data",
                     "give the data of the run to tune");
  options.writeNothing(/*hasShards=*/false);
  options.evalData.clear();
  options.evalEvery.reset();
  options.saveEvery.reset();
  options.earlyStop.reset();
  options.best.clear();
  options.histogramEvery.reset();
  options.watch.clear();
  options.checkMemory = false;
  options.nan = NanPolicy::Stop;
  for (const char *option : {"--eval-data", "--eval-every", "--best", "--tune"})
    options.given.erase(option);
}

/// A device that measures algorithms of libraries does so in the first step,
/// unless the user says otherwise. A profile shows what is kept from other
/// runs.
static void tuneByDefault(Options &options) {
  // Algorithms of many convolutions take longer; later runs go on with them.
  constexpr int64_t seconds = 10;
  bool observes = !options.diagnose.empty() || !options.profile.empty();
  if (!options.isGiven("--tune-seconds"))
    options.tuneSeconds = seconds;
  if (options.isGiven("--tune"))
    return;
  options.tune = "cache";
  if (observes)
    options.tuneSeconds = 0;
}

void ingot::runtime::readTune(Options &options, const Manifest &manifest) {
  if (manifest.tuning == TuningPlace::Device)
    tuneByDefault(options);
  if (options.tune == "off") {
    options.tune.clear();
    options.given.erase("--tune");
  }
  if (options.isGiven("--tune") &&
      !(options.diagnose.empty() && options.profile.empty()))
    throw usageError("--tune",
                     options.diagnose.empty()
                         ? "cannot be combined with --profile"
                         : "cannot be combined with --diagnose",
                     "tune in a run of its own: the choices are kept");
  options.measureSeconds = parseMeasuring(options.tune);
  if (!options.measureSeconds)
    return;
  if (*options.measureSeconds == 0)
    throw usageError("--tune", "'" + options.tune + "' has no time to measure",
                     "as in --tune=measure:2.5");
  options.tune.clear();
  limitToSteps(options);
}
