// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/options/phases/TuneOptions.h"

#include "runtime/core/Error.h"
#include "runtime/core/commandline/OptionBinding.h"
#include "runtime/core/commandline/OptionChecks.h"
#include "runtime/trainer/options/phases/OptionWords.h"

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

void TuneOptions::bind(CLI::App &app) {
  auto parse = [this](const std::string &word) {
    measureSeconds = parseMeasuring(word);
    isAsked = word != "off";
    isOn = isAsked && !measureSeconds;
    file = word == "cache" ? "" : word;
    if (measureSeconds == 0)
      throw usageError("--tune", "'" + word + "' has no time to measure",
                       "as in --tune=measure:2.5");
    return std::string();
  };
  CLI::Option *tune = app.add_flag("--tune{cache}");
  parseWith(tune, parse)
      ->description(
          "Measure alternatives and take the fastest: threads, their places, "
          "--workers and --prefetch before a run on CPUs, how buckets are "
          "joined in the first steps of several ranks there, kernels and "
          "algorithms in those on a GPU; the choices are kept for later runs, "
          "with --tune=FILE in that file. Without it, algorithms on a GPU are "
          "measured and kept; --tune=off leaves them to the libraries")
      ->group("Run");
  app.add_option("--tune-seconds", seconds,
                 "How long --tune measures: before a run on CPUs, and in the "
                 "first step, without it too, on a GPU (there 10)")
      ->type_name("N")
      ->check(atLeast(1))
      ->capture_default_str()
      ->group("Run");
  app.add_flag("--nondeterministic", nondeterministic,
               "A faster gradient of attention, which differs in the last bits "
               "from run to run")
      ->group("GPUs only");
}

void TuneOptions::setDefaults(const CommandLine &line, const Manifest &manifest,
                              bool observes) {
  if (manifest.target.tuning != TuningPlace::Device)
    return;
  // Algorithms of many convolutions take longer; later runs go on with them.
  constexpr int64_t most = 10;
  if (!line.isGiven("--tune-seconds"))
    seconds = most;
  if (line.isGiven("--tune"))
    return;
  isOn = true;
  // A profile shows what is kept from other runs.
  if (observes)
    seconds = 0;
}
