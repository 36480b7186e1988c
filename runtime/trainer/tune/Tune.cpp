// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/tune/Tune.h"

#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/commandline/OptionChecks.h"
#include "runtime/core/console/Console.h"
#include "runtime/core/files/Crc32.h"
#include "runtime/core/machine/ControlGroups.h"
#include "runtime/core/machine/Process.h"
#include "runtime/core/machine/ProcessorUse.h"
#include "runtime/data/files/Pipes.h"
#include "runtime/data/files/Sources.h"
#include "runtime/trainer/options/KeptChoices.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

using namespace ingot::runtime;
using Clock = std::chrono::steady_clock;

static std::string join(const Settings &settings) {
  std::string text;
  for (const std::string &setting : settings)
    text += (text.empty() ? "" : " ") + setting;
  return text;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

TuneSearch::TuneSearch(Measure measure,
                       std::function<void(const std::string &)> say,
                       std::chrono::duration<double> most)
    : measure(std::move(measure)), say(std::move(say)), begin(Clock::now()),
      most(most) {}

std::optional<StepTimes> TuneSearch::time(const Settings &settings) {
  Clock::time_point start = Clock::now();
  std::optional<StepTimes> times = measure(settings);
  longest =
      std::max(longest, std::chrono::duration<double>(Clock::now() - start));
  std::string name = settings.empty() ? "as it is" : join(settings);
  if (times)
    say(formatMeasured(name, times->stepMs));
  else
    say(fmt::format("  {:<44}     fails", name));
  return times;
}

bool TuneSearch::hasTime(int more) const {
  return Clock::now() - begin + more * longest < most;
}

void TuneSearch::confirm() {
  std::optional<StepTimes> before = time({}), after = time(best);
  if (before)
    first.stepMs = std::min(first.stepMs, before->stepMs);
  if (after)
    fastest.stepMs = std::max(fastest.stepMs, after->stepMs);
  if (before && after && isFaster(fastest.stepMs, first.stepMs))
    return;
  say("  the second measurements do not confirm the first: the run stays as it "
      "is");
  best.clear();
  fastest = first;
}

std::optional<Tuned> TuneSearch::find(const std::vector<TuneAxis> &axes) {
  std::optional<StepTimes> asItIs = time({});
  if (!asItIs)
    return std::nullopt;
  first = fastest = *asItIs;
  // Steps that hardly wait for data gain nothing from making it otherwise.
  constexpr double leastWait = 0.02;
  bool isComplete = true;
  for (const TuneAxis &axis : axes) {
    if (axis.isForData && fastest.dataMs < leastWait * fastest.stepMs)
      continue;
    Settings base = best;
    for (const std::string &alternative : axis.alternatives) {
      // The last two measurements confirm.
      isComplete = hasTime(/*more=*/3);
      if (!isComplete)
        break;
      Settings settings = base;
      settings.push_back(alternative);
      std::optional<StepTimes> times = time(settings);
      if (!times || !isFaster(times->stepMs, fastest.stepMs))
        continue;
      fastest = *times;
      best = settings;
    }
    if (!isComplete)
      break;
  }
  if (!best.empty())
    confirm();
  return Tuned{best, first.stepMs, fastest.stepMs,
               first.losses == fastest.losses, isComplete};
}

//===----------------------------------------------------------------------===//
// What is kept
//===----------------------------------------------------------------------===//

std::string ingot::runtime::formatTuned(const Tuned &tuned) {
  std::string text = fmt::format("{:.4g} {:.4g} {}", tuned.beforeMs,
                                 tuned.afterMs, tuned.isSame ? 1 : 0);
  for (const std::string &setting : tuned.settings)
    text += " " + setting;
  return text;
}

/// Whether the word is a setting that listAxes may have chosen.
static bool isSetting(std::string_view word) {
  if (word == "OMP_PROC_BIND=close" || word == "OMP_PROC_BIND=spread")
    return true;
  struct Numbers {
    std::string_view name;
    int64_t least, most;
  };
  constexpr Numbers known[] = {{"OMP_NUM_THREADS=", 1, 65536},
                               {"--workers=", 0, 256},
                               {"--prefetch=", 2, 1024}};
  return std::any_of(std::begin(known), std::end(known), [&](const Numbers &n) {
    int64_t value = 0;
    return word.starts_with(n.name) &&
           parseWhole(word.substr(n.name.size()), value) && value >= n.least &&
           value <= n.most;
  });
}

std::optional<Tuned> ingot::runtime::parseTuned(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    size_t space = std::min(text.find(' '), text.size());
    words.emplace_back(text.substr(0, space));
    text.remove_prefix(std::min(text.size(), space + 1));
  }
  Tuned tuned;
  int same = 0;
  auto isTime = [](const std::string &word, double &milliseconds) {
    return parseWhole(word, milliseconds) && std::isfinite(milliseconds) &&
           milliseconds >= 0;
  };
  if (words.size() < 3 || !isTime(words[0], tuned.beforeMs) ||
      !isTime(words[1], tuned.afterMs) || !parseWhole(words[2], same))
    return std::nullopt;
  tuned.isSame = same != 0;
  for (size_t i = 3; i < words.size(); ++i) {
    // Damage must not set anything else.
    if (!isSetting(words[i]))
      return std::nullopt;
    tuned.settings.push_back(words[i]);
  }
  return tuned;
}

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

/// Returns the axes of the search: nothing that the user has chosen.
static std::vector<TuneAxis> listAxes(const CommandLine &line) {
  std::vector<TuneAxis> axes;
  int64_t cores = countProcessors();
  if (!std::getenv("OMP_NUM_THREADS")) {
    TuneAxis threads;
    for (int64_t count : {3 * cores / 4, cores / 2, cores / 4, int64_t(1)})
      if (std::string word = fmt::format("OMP_NUM_THREADS={}", count);
          count > 0 && count < cores &&
          std::find(threads.alternatives.begin(), threads.alternatives.end(),
                    word) == threads.alternatives.end())
        threads.alternatives.push_back(word);
    axes.push_back(threads);
  }
  bool isBound = false;
  for (const char *name : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"})
    isBound |= std::getenv(name) != nullptr;
  if (!isBound && cores > 1)
    axes.push_back({false, {"OMP_PROC_BIND=close", "OMP_PROC_BIND=spread"}});
  if (!line.isGiven("--workers")) {
    TuneAxis workers{true, {"--workers=0"}};
    constexpr int64_t most = 16;
    for (int64_t count = 1; count <= std::min(cores, most); count *= 2)
      workers.alternatives.push_back(fmt::format("--workers={}", count));
    axes.push_back(workers);
  }
  if (!line.isGiven("--prefetch"))
    axes.push_back({true, {"--prefetch=16", "--prefetch=64"}});
  return axes;
}

/// Returns the words with the options of `settings`, and `tune` for --tune.
static std::vector<std::string>
changeArguments(const std::vector<std::string> &arguments,
                const Settings &settings, const std::string &tune) {
  std::vector<std::string> changed;
  for (const std::string &word : arguments)
    if (word != "--tune" && !word.starts_with("--tune="))
      changed.push_back(word);
  for (const std::string &setting : settings)
    if (setting.starts_with("--"))
      changed.push_back(setting);
  changed.push_back("--tune=" + tune);
  return changed;
}

static std::vector<std::string> listVariables(const Settings &settings) {
  std::vector<std::string> variables;
  for (const std::string &setting : settings)
    if (!setting.starts_with("--"))
      variables.push_back(setting);
  return variables;
}

/// Returns the key of a choice, which depends on the compiled model, how its
/// data is made, and what the user has chosen already.
static std::string makeKey(const CommandLine &line, const Manifest &manifest,
                           std::string_view text) {
  std::string data;
  for (const auto &[name, values] : line.configuration)
    if (name == "data" || name == "input" || name == "pack" ||
        name == "cache" || name == "workers" || name == "prefetch")
      for (const std::string &value : values)
        data += name + "=" + value + "\n";
  for (const char *name :
       {"OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"})
    if (const char *value = std::getenv(name))
      data += std::string(name) + "=" + value + "\n";
  return fmt::format("host {} {:08x} {:08x}",
                     TunedFile::makeWord(manifest.model), computeCrc32(text),
                     computeCrc32(data));
}

static std::string describe(const Tuned &tuned, bool isKept) {
  std::string from = isKept ? "kept from an earlier run: " : "";
  if (tuned.settings.empty())
    return fmt::format("tune: {}nothing is faster than the run as it is, "
                       "{:.3f} ms a step",
                       from, tuned.beforeMs);
  return fmt::format(
      "tune: {}{}: {} in two measurements of each; losses have {}", from,
      join(tuned.settings), formatGain(tuned.afterMs, tuned.beforeMs),
      tuned.isSame ? "the same bits"
                   : "other last bits, as sums of that many threads do");
}

static std::optional<Tuned> search(const Options &options,
                                   const std::vector<std::string> &arguments,
                                   Console &console) {
  // A measurement is a part of the time that leaves room for ten others.
  double most = static_cast<double>(options.tune.seconds);
  std::string seconds = fmt::format("{:g}", std::clamp(most / 25, 0.3, 5.0));
  auto measure = [&](const Settings &settings) {
    ProcessOutput output =
        runProcess(getExecutablePath(),
                   changeArguments(arguments, settings, "measure:" + seconds),
                   listVariables(settings), /*isQuiet=*/true, "--tune");
    return output.status == 0 ? parseStepTimes(output.text) : std::nullopt;
  };
  console.line(
      fmt::format("tune: measures steps for up to {} s", options.tune.seconds));
  TuneSearch found(
      measure, [&](const std::string &line) { console.line(line); },
      std::chrono::duration<double>(most));
  return found.find(listAxes(options.line));
}

void ingot::runtime::tuneOnHost(const Options &options,
                                const Manifest &manifest, std::string_view text,
                                const std::vector<std::string> &arguments,
                                Console &console) {
  if (options.data.training.empty())
    throw usageError("--tune", "needs --data",
                     "give the data of the run to tune");
  for (const DataFile &file : findFiles(options.data.training, "--data").files)
    if (isPipe(file.path))
      throw usageError("--tune",
                       "takes samples several times, and what comes through a "
                       "pipe comes once",
                       "write the samples to a file, or leave it out");
  TunedFile file = openChoices(options.tune);
  std::string key = makeKey(options.line, manifest, text);
  std::optional<Tuned> tuned;
  if (std::optional<std::string> kept = file.find(key))
    tuned = parseTuned(*kept);
  bool isKept = tuned.has_value();
  ProcessorUse from = readProcessorUse();
  if (!isKept)
    tuned = search(options, arguments, console);
  double others = getOthersShare(from, readProcessorUse());
  // The run itself says what is wrong with it.
  if (!tuned)
    return;
  console.line(describe(*tuned, isKept));
  if (!isKept && others > kMostOthers)
    console.line("tune: " + describeOthers(others) +
                 " meanwhile, so that nothing is kept; tune when it is idle");
  else if (!isKept && tuned->isComplete)
    keepChoice(file, key, formatTuned(*tuned), console);
  else if (!isKept)
    console.line("tune: the time was not enough for all of it, so that nothing "
                 "is kept; --tune-seconds gives more");
  if (tuned->settings.empty())
    return;
  for (const std::string &variable : listVariables(tuned->settings)) {
    size_t equals = variable.find('=');
    setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1,
           1);
  }
  std::vector<std::string> words =
      changeArguments(arguments, tuned->settings, "off");
  std::vector<char *> pointers;
  for (std::string &word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(getExecutablePath().c_str(), pointers.data());
  throw failure("--tune", "cannot run the trainer again: " + describeErrno(),
                "run it with " + join(tuned->settings));
}
