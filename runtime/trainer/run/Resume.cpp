// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/run/Resume.h"

#include "runtime/core/Error.h"
#include "runtime/core/console/Console.h"
#include "runtime/trainer/options/TrainerOptions.h"
#include "runtime/trainer/options/phases/Hyperparameters.h"

#include <algorithm>
#include <fmt/format.h>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace ingot::runtime;

static void inheritLength(Options &options, int64_t totalSteps) {
  options.run.steps = totalSteps;
  options.line.configuration["steps"] = {std::to_string(totalSteps)};
}

using Words = std::map<std::string, std::vector<std::string>>;

/// Returns an option as it is written on a command line.
static std::string describe(const std::string &name,
                            const std::vector<std::string> &values) {
  std::string text;
  for (const std::string &value : values)
    text += fmt::format("{}--{}{}", text.empty() ? "" : " ", name,
                        value == "true" ? "" : " " + value);
  return text;
}

static std::string describe(const Words &words) {
  std::string text;
  for (const auto &[name, values] : words)
    text += (text.empty() ? "" : " ") + describe(name, values);
  return text;
}

/// Moves the words of these options to the result.
static Words take(Words &words, std::initializer_list<const char *> names) {
  Words taken;
  for (const char *name : names)
    if (auto node = words.extract(name))
      taken.insert(std::move(node));
  return taken;
}

/// Gives options their words in the checkpoint's run. Returns those that the
/// command line says otherwise.
static std::string inheritWords(Options &options, const Manifest &manifest,
                                Words words, Console &console) {
  std::string changes;
  auto say = [&](const std::string &text) {
    if (!options.run.evaluatesOnly() && !options.report.diagnose &&
        !options.tune.measureSeconds)
      console.noteOnce(text);
  };
  for (const auto &[name, values] : options.line.shaping) {
    auto old = words.extract(name);
    // Files may have moved.
    if (old && old.mapped() != values && name != "eval-data")
      changes +=
          fmt::format("{}{} (it had {})", changes.empty() ? "" : ", ",
                      describe(name, values), describe(name, old.mapped()));
  }
  Words evaluation =
      take(words, {"eval-data", "best", "early-stop", "eval-batches",
                   "eval-every", "export-weights", "min-delta"});
  if (options.run.evaluatesOnly()) {
    // How much is evaluated is the same; what follows from it is of training.
    if (auto batches = evaluation.extract("eval-batches"))
      words.insert(std::move(batches));
  } else if (!options.data.evaluation.empty()) {
    evaluation.erase("eval-data");
    words.merge(evaluation);
  } else if (!evaluation.empty()) {
    say("the checkpoint's run had " + describe(evaluation) +
        ": without --eval-data this one does not evaluate");
  }
  bool rollsBack = words.count("nan") && words["nan"].front() == "rollback";
  if (options.save.checkpoints.empty()) {
    Words saving = take(words, {"keep", "save-every"});
    if (rollsBack)
      saving.merge(take(words, {"nan"}));
    if (!saving.empty())
      say("the checkpoint's run had " + describe(saving) +
          ": without --save this one saves nothing");
  }
  // It is known before the checkpoint is read.
  if (Words early = take(words, {"nondeterministic"}); !early.empty())
    say("the checkpoint's run had " + describe(early));
  if (words.empty())
    return changes;
  setInherited(options, manifest, words);
  for (const auto &[name, values] : words)
    options.line.shaping[name] = options.line.configuration[name] = values;
  say("resumes with " + describe(words) + " of the checkpoint's run");
  return changes;
}

void ingot::runtime::inheritSettings(Options &options, const Manifest &manifest,
                                     const RunSettings &saved,
                                     Console &console) {
  std::string changes = inheritWords(options, manifest, saved.options, console);
  auto inherit = [&](const std::string &option, auto &value, const auto &old,
                     auto describe) {
    if (value == old)
      return;
    if (!options.line.isGiven(option)) {
      value = old;
      if (!isOfGroup(option))
        options.line.configuration[option.substr(2)] = {describe(old)};
      return;
    }
    changes += fmt::format("{}{} {} (it had {})", changes.empty() ? "" : ", ",
                           option, describe(value), describe(old));
  };
  auto asItIs = [](const auto &value) { return fmt::format("{}", value); };
  for (const auto &[name, old] : saved.hyperparameters)
    if (auto value = options.run.hyperparameters.find(name);
        value != options.run.hyperparameters.end())
      inherit(getFlag(name), value->second, old, asItIs);
  if (auto words = formatGroups(options.run.hyperparameters); !words.empty())
    options.line.configuration["group"] = words;
  if (haveVectorsNoDecay(options.run.hyperparameters))
    options.line.configuration["no-decay"] = {"norms-and-biases"};
  try {
    inherit("--schedule", options.run.schedule,
            ScheduleShape::parse(saved.schedule),
            [](const ScheduleShape &shape) { return shape.str(); });
  } catch (const std::invalid_argument &) {
    throw badInput("--resume",
                   "the checkpoint's run has an unknown schedule '" +
                       saved.schedule + "'",
                   "resume with the release that saved it, or give --schedule");
  }
  if (!options.run.warmupPart)
    inherit("--warmup", options.run.warmup, saved.warmup, asItIs);
  inherit("--min-lr", options.run.minLr, saved.minLr, asItIs);
  if (saved.batchTokens != 0 || options.data.batchTokens)
    inherit("--batch-tokens", options.data.batchTokens,
            saved.batchTokens == 0 ? std::nullopt
                                   : std::optional(saved.batchTokens),
            [](const std::optional<int64_t> &tokens) {
              return tokens ? fmt::format("{}", *tokens) : "no limit";
            });
  // Samples begin where they did. Without --no-shuffle, which the checkpoint
  // has, an option that is not given says `auto`.
  inherit("--token-offsets", options.data.tokenOffsets,
          parseTokenOffsets(saved.tokenOffsets), [](TokenOffsets offsets) {
            return offsets == TokenOffsets::Moving ? "moved from epoch to epoch"
                                                   : getName(offsets);
          });
  if (saved.evalBatches != 0 || options.data.evalBatches)
    inherit("--eval-batches", options.data.evalBatches,
            saved.evalBatches == 0 ? std::nullopt
                                   : std::optional(saved.evalBatches),
            [](const std::optional<int64_t> &batches) {
              return batches ? fmt::format("{}", *batches) : "all";
            });
  if (saved.ema != 0 || options.run.ema)
    inherit("--ema", options.run.ema, std::optional(saved.ema),
            [](const std::optional<double> &decay) {
              return fmt::format("{}", decay.value_or(0));
            });
  if (!options.run.epochs && !options.run.steps && saved.totalSteps != 0)
    inheritLength(options, saved.totalSteps);
  if (!changes.empty() && !options.run.evaluatesOnly())
    console.noteOnce("resumes the checkpoint's run with " + changes);
}

/// Returns the words that only the first has.
static std::string findOthers(const std::vector<std::string> &words,
                              const std::vector<std::string> &others) {
  std::string text;
  for (const std::string &word : words)
    if (std::find(others.begin(), others.end(), word) == others.end())
      text += (text.empty() ? "" : " ") + word;
  return text;
}

/// Says what trainers of different compilations train otherwise.
static void compareTrainers(const RunSettings &now, const RunSettings &saved,
                            Console &console) {
  if (now.command.empty() || saved.command.empty())
    return;
  std::string own = findOthers(now.recipe, saved.recipe),
              other = findOthers(saved.recipe, now.recipe);
  if (!own.empty() || !other.empty())
    console.noteOnce(fmt::format(
        "this trainer was compiled {}; that of the checkpoint's run {}",
        own.empty() ? "without " + other : "with " + own,
        other.empty() ? "without " + own : "with " + other));
}

void ingot::runtime::compareRuns(const RunSettings &now,
                                 const RunSettings &saved, int64_t step,
                                 bool isEndless, Console &console) {
  compareTrainers(now, saved, console);
  if (now.threads != saved.threads && now.threads != 0 && saved.threads != 0)
    console.noteOnce(fmt::format(
        "steps run in {} {}; those of the checkpoint's run ran in {}: sums may "
        "have other last bits",
        now.threads, now.threads == 1 ? "thread" : "threads", saved.threads));
  if (now.stepSamples != saved.stepSamples && now.position && saved.position)
    console.noteOnce(fmt::format(
        "steps take {} samples on {} {}; those of the checkpoint's run took {} "
        "on {}: step {} continues at sample {} of epoch {}, and epochs have "
        "another number of steps",
        now.stepSamples, now.ranks, now.ranks == 1 ? "rank" : "ranks",
        saved.stepSamples, saved.ranks, step + 1,
        saved.position->getSamples() + 1, saved.position->epoch + 1));
  else if (now.stepSamples != saved.stepSamples && saved.stepSamples != 0)
    console.noteOnce(fmt::format(
        "steps take {} samples on {} {}; those of the checkpoint's run took {} "
        "on {}: the samples of step {} are those that this order has for it, "
        "and epochs have another number of steps",
        now.stepSamples, now.ranks, now.ranks == 1 ? "rank" : "ranks",
        saved.stepSamples, saved.ranks, step + 1));
  if (isEndless)
    return;
  if (now.totalSteps != saved.totalSteps && now.schedule == saved.schedule &&
      ScheduleShape::parse(now.schedule).followsLength())
    console.noteOnce(fmt::format(
        "the {} schedule ends at step {} instead of {}, so that the learning "
        "rate of every step changes",
        now.schedule, now.totalSteps, saved.totalSteps));
  if (step >= now.totalSteps)
    console.noteOnce(
        fmt::format("the checkpoint is of step {}, and the run has {} steps: "
                    "there is nothing left to train",
                    step, now.totalSteps));
}
