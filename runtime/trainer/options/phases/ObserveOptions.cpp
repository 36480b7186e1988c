// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/options/phases/ObserveOptions.h"

#include "runtime/core/commandline/OptionBinding.h"
#include "runtime/core/commandline/OptionChecks.h"

using namespace ingot::runtime;

static const Choices<WatchKind> kWatchKinds = {{"nan", WatchKind::Nan},
                                               {"stats", WatchKind::Stats}};

void ObserveOptions::bind(CLI::App &app) {
  std::string group = "Observing";
  CLI::Option *logOption =
      addText(app, "--log", log, "Write a line of JSON per step")
          ->type_name("FILE.jsonl")
          ->group(group);
  app.add_option("--log-every", logEvery,
                 "Write a line for every N-th step only; if it is given, such "
                 "steps also print one where there is no terminal")
      ->type_name("N")
      ->check(atLeast(1))
      ->capture_default_str()
      ->group(group);
  app.add_option("--print-every", printEvery,
                 "Where there is no terminal, print a line every N steps "
                 "[those of --log-every, if it is given]")
      ->type_name("N")
      ->check(atLeast(1))
      ->group(group);
  app.add_option("--log-max-mb", logMostMb,
                 "A log of N MiB becomes FILE.1, in place of the one "
                 "before, and begins anew")
      ->type_name("N")
      ->check(isIntegerFrom(1, kMostMebibytes))
      ->needs(logOption)
      ->group(group);
  CLI::Option *profileOption =
      addText(app, "--profile", profile,
              "Write a trace for Perfetto or chrome://tracing, and "
              "print where the time of the steps goes")
          ->type_name("FILE.json")
          ->group(group);
  auto parseSteps = [this](const std::string &text) -> std::string {
    profileSchedule = ProfileSchedule::parse(text);
    if (profileSchedule)
      return {};
    return fmt::format("'{}' is not WAIT:WARMUP:ACTIVE[:REPEAT] with at least "
                       "one active step",
                       text);
  };
  addParsed(app, "--profile-steps", parseSteps,
            "Profile ACTIVE steps after WAIT steps and WARMUP steps whose "
            "profile is dropped, once or REPEAT times; without it, all, of a "
            "GPU all but the first")
      ->type_name("WAIT:WARMUP:ACTIVE[:REPEAT]")
      ->needs(profileOption)
      ->group(group);
  CLI::Option *tensorboardOption =
      addText(app, "--tensorboard", tensorboard,
              "Write the log for TensorBoard into this folder")
          ->type_name("DIR")
          ->group(group);
  CLI::Option *histograms =
      app.add_option("--histogram-every", histogramEvery,
                     "Write histograms of weights, gradients and updates every "
                     "N steps, and warn of parameters that do not learn")
          ->type_name("N")
          ->check(atLeast(1))
          ->needs(tensorboardOption)
          ->group(group);
  addChoice(app, "--watch", watch, kWatchKinds,
            "Inspect every value that kernels write: nan names the first op "
            "whose output is not finite, stats ends with a table of overflow "
            "and underflow (slow)")
      ->excludes(histograms)
      ->group(group);
  app.add_flag("--check-memory", checkMemory,
               "Fill memory in which no tensor is live with NaN and check that "
               "kernels do not write there (very slow)")
      ->excludes("--watch")
      ->excludes(histograms)
      ->disable_flag_override()
      ->group(group);
}

void ObserveOptions::writeNothing() {
  log.reset();
  profile.reset();
  tensorboard.reset();
}
