// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/hooks/BucketTuner.h"

#include "runtime/comm/Communicator.h"
#include "runtime/core/commandline/OptionChecks.h"
#include "runtime/core/console/Console.h"
#include "runtime/trainer/options/KeptChoices.h"

#include <algorithm>
#include <fmt/format.h>

using namespace ingot::runtime;
using Clock = std::chrono::steady_clock;

/// Steps before those that are measured, turns of each candidate, and steps of
/// a turn, of which the first does not count.
static constexpr int64_t kWarmup = 3, kTurns = 3, kFewest = 3, kMost = 21;

static double toMebibytes(int64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

BucketTuner::BucketTuner(const RunContext &context)
    : ranks(context.ranks), console(context.console),
      options(context.options.tune),
      model(TunedFile::makeWord(context.getManifest().model)) {}

std::string BucketTuner::getKey() const {
  return fmt::format("buckets {} {} of {} bytes, {} ranks", model, buckets,
                     bytes, ranks.getSize());
}

void BucketTuner::say(int64_t joining, double milliseconds) {
  std::string name = joining == 0 ? "buckets as they are"
                                  : fmt::format("buckets joined to {:.1f} MiB",
                                                toMebibytes(joining));
  console.line(formatMeasured(name, milliseconds));
}

bool BucketTuner::takeKept() {
  int64_t known = -1;
  if (ranks.getRank() == 0) {
    TunedFile file = openChoices(options);
    int64_t kept = 0;
    if (std::optional<std::string> choice = file.find(getKey()))
      known = parseWhole(*choice, kept) && kept >= 0 ? kept : -1;
  }
  known = ranks.agree(known, "what --tune has kept");
  if (known < 0)
    return false;
  ranks.setJoining(known);
  console.line(known == 0
                   ? "tune: kept from an earlier run: buckets as they are"
                   : fmt::format("tune: kept from an earlier run: buckets "
                                 "joined to {:.1f} MiB",
                                 toMebibytes(known)));
  return true;
}

void BucketTuner::begin() {
  auto [count, sent] = ranks.countBuckets();
  buckets = count - counted.first;
  bytes = sent - counted.second;
  stage = Stage::Done;
  if (buckets < 2) {
    console.line("tune: a step exchanges fewer than two buckets that could be "
                 "joined");
    return;
  }
  if (takeKept())
    return;
  stage = Stage::Measuring;
  candidates = {0};
  for (int64_t factor = 2; factor < buckets; factor *= 2)
    candidates.push_back(bytes / buckets * factor);
  candidates.push_back(bytes);
  times.resize(candidates.size());
  // The ranks take as many steps as fit the time of the slowest.
  double stepMs =
      std::chrono::duration<double, std::milli>(Clock::now() - last).count();
  auto turns = static_cast<double>(candidates.size()) * kTurns;
  stepsOfTurn = static_cast<int64_t>(static_cast<double>(options.seconds) *
                                     1e3 / (turns * std::max(stepMs, 1e-3)));
  stepsOfTurn = -ranks.agree(-std::clamp(stepsOfTurn, kFewest, kMost),
                             "the steps of --tune");
  console.line(fmt::format("tune: {} buckets of {:.1f} MiB are joined in turns",
                           buckets, toMebibytes(bytes)));
}

void BucketTuner::endStep(int64_t, double) {
  if (stage == Stage::Done)
    return;
  Clock::time_point now = Clock::now();
  double took = std::chrono::duration<double, std::milli>(now - last).count();
  ++steps;
  if (stage == Stage::Warmup) {
    if (steps == kWarmup)
      begin();
    else
      counted = ranks.countBuckets();
    steps = stage == Stage::Measuring ? 0 : steps;
  } else {
    auto count = static_cast<int64_t>(candidates.size());
    int64_t turn = (steps - 1) / stepsOfTurn;
    if ((steps - 1) % stepsOfTurn != 0)
      times[static_cast<size_t>(turn % count)].push_back(took);
    if (steps == count * kTurns * stepsOfTurn)
      choose();
    else
      ranks.setJoining(
          candidates[static_cast<size_t>(steps / stepsOfTurn % count)]);
  }
  last = Clock::now();
}

void BucketTuner::finish() {
  if (stage != Stage::Done)
    console.line("tune: the run was too short to compare ways to join buckets, "
                 "so that nothing is kept");
}

void BucketTuner::choose() {
  stage = Stage::Done;
  std::vector<double> medians;
  for (std::vector<double> &all : times) {
    auto middle = all.begin() + static_cast<int64_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    medians.push_back(*middle);
  }
  // The same sums on all ranks, hence the same choice.
  ranks.allReduce(medians.data(), static_cast<int64_t>(medians.size()),
                  DType::F64, "the times of --tune");
  for (double &median : medians)
    median /= static_cast<double>(ranks.getSize());
  for (size_t i = 0; i < medians.size(); ++i)
    say(candidates[i], medians[i]);
  size_t best = static_cast<size_t>(
      std::min_element(medians.begin(), medians.end()) - medians.begin());
  if (!isFaster(medians[best], medians[0]))
    best = 0;
  ranks.setJoining(candidates[best]);
  console.line(best == 0
                   ? fmt::format("tune: nothing is faster than buckets as they "
                                 "are, {:.3f} ms a step",
                                 medians[0])
                   : fmt::format("tune: buckets joined to {:.1f} MiB: {}",
                                 toMebibytes(candidates[best]),
                                 formatGain(medians[best], medians[0])));
  if (ranks.getRank() != 0)
    return;
  TunedFile file = openChoices(options);
  keepChoice(file, getKey(), std::to_string(candidates[best]), console);
}
