// SPDX-License-Identifier: Apache-2.0

#include "passes/plan/Explain.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace ingot;
using llvm::formatv;

static constexpr double kMilli = 1e3, kGiga = 1e9, kPercent = 100;

/// Returns the bytes that calls wait for, as their share of the time of all
/// exchanges.
static double getExposedBytes(const RankPlan &plan) {
  return plan.exchangeSeconds > 0
             ? plan.exchangedBytes * plan.exposedSeconds / plan.exchangeSeconds
             : 0;
}

/// Returns the bytes per second that links would have to move in addition so
/// that no call waited: all bytes in the time in which they overlap with calls.
/// Nothing if none does.
static std::optional<double> getMissingRate(const RankPlan &plan) {
  double hidden = plan.exchangeSeconds - plan.exposedSeconds;
  constexpr double least = 1e-9;
  if (hidden < least)
    return std::nullopt;
  return plan.exchangedBytes / hidden -
         plan.exchangedBytes / plan.exchangeSeconds;
}

static void printRow(llvm::raw_ostream &os, size_t number,
                     const Candidate &candidate) {
  const RankPlan &estimate = candidate.estimate;
  std::string replayed = "-", gap = "-";
  if (candidate.replay) {
    replayed = formatv("{0:f3}", candidate.replay->stepSeconds * kMilli);
    gap = formatv(
        "{0:f1}",
        kPercent * (estimate.stepSeconds / candidate.replay->stepSeconds - 1));
  }
  const RankPlan &plan = candidate.getPlan();
  os << formatv("{0,2}  {1,-48} {2,12:f3} {3,12} {4,6} {5,10:f2} {6,11:f3} "
                "{7,11:f3}\n",
                number, candidate.layout.describe(),
                estimate.stepSeconds * kMilli, replayed, gap,
                static_cast<double>(plan.memoryBytes) / kGiga,
                plan.exposedSeconds * kMilli, getExposedBytes(plan) / kGiga);
}

/// Says why a layout is slower than the best one.
static void printReasons(llvm::raw_ostream &os, size_t number,
                         const Candidate &other, const Candidate &best) {
  if (!other.problem.empty()) {
    os << formatv("{0,2}  {1}\n", number, other.problem);
    return;
  }
  const RankPlan &plan = other.getPlan(), &least = best.getPlan();
  std::vector<std::string> reasons;
  auto addTime = [&](double seconds, const char *what) {
    // Less is not worth a word.
    constexpr double share = 0.001;
    if (seconds > share * least.stepSeconds)
      reasons.push_back(formatv("{0} {1:f3} ms more", what, seconds * kMilli));
    return seconds > share * least.stepSeconds;
  };
  addTime(plan.computeSeconds - least.computeSeconds, "computes");
  if (addTime(plan.exposedSeconds - least.exposedSeconds,
              "waits for exchanges")) {
    reasons.push_back(formatv("which move {0:f3} GB in its way",
                              getExposedBytes(plan) / kGiga));
    if (std::optional<double> rate = getMissingRate(plan))
      reasons.push_back(
          formatv("and {0:f1} GB/s are missing to hide them", *rate / kGiga));
    else
      reasons.push_back("and no call runs concurrently with them");
  }
  addTime(plan.hostSeconds - least.hostSeconds, "moves data on cores");
  auto bytes = static_cast<double>(plan.memoryBytes - least.memoryBytes);
  if (bytes > 0)
    reasons.push_back(formatv("takes {0:f2} GB more", bytes / kGiga));
  if (reasons.empty())
    reasons.push_back("takes as long");
  os << formatv("{0,2}  {1}\n", number, llvm::join(reasons, ", "));
}

std::string ingot::explain(const SearchResult &result,
                           const SearchSpace &space) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << formatv("{0} ranks of {1:f1} GB, {2} samples a step: {3} layouts were "
                "compared\n\n",
                space.ranks, space.memoryBytes / kGiga, space.globalBatch,
                result.compared);
  os << formatv("    {0,-48} {1,12} {2,12} {3,6} {4,10} {5,11} {6,11}\n",
                "layout", "estimate ms", "replay ms", "gap %", "memory GB",
                "exposed ms", "exposed GB");
  for (size_t i = 0; i < result.best.size(); ++i)
    printRow(os, i + 1, result.best[i]);
  if (result.best.size() > 1)
    os << "\nwhy the others are slower\n";
  for (size_t i = 1; i < result.best.size(); ++i)
    printReasons(os, i + 1, result.best[i], result.best.front());
  return text;
}
