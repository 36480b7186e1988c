// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/options/KeptChoices.h"

#include "runtime/core/console/Console.h"
#include "runtime/core/machine/Process.h"
#include "runtime/trainer/options/phases/TuneOptions.h"

#include <fmt/format.h>

using namespace ingot::runtime;

TunedFile ingot::runtime::openChoices(const TuneOptions &options) {
  return {describeProcessors(), options.file};
}

void ingot::runtime::keepChoice(TunedFile &file, const std::string &key,
                                const std::string &choice, Console &console) {
  file.keep(key, choice);
  if (std::string problem = file.takeProblem(); !problem.empty())
    console.noteOnce("the choice of --tune is not kept: " + problem);
}

bool ingot::runtime::isFaster(double milliseconds, double before) {
  constexpr double leastGain = 0.05;
  return milliseconds <= (1 - leastGain) * before;
}

std::string ingot::runtime::formatMeasured(const std::string &name,
                                           double milliseconds) {
  return fmt::format("  {:<44} {:10.3f} ms a step", name, milliseconds);
}

std::string ingot::runtime::formatGain(double milliseconds, double before) {
  return fmt::format("{:.3f} ms a step instead of {:.3f}, {:.0f}% less",
                     milliseconds, before, 100 * (1 - milliseconds / before));
}
