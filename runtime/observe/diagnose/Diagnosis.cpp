// SPDX-License-Identifier: Apache-2.0

#include "runtime/observe/diagnose/Diagnosis.h"

#include "runtime/core/machine/ProcessorUse.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace ingot::runtime;

/// Parts of the time below which nothing is said.
static constexpr double kMostData = 0.1, kMostCommunication = 0.1,
                        kMostSynchronization = 0.1, kMostSaving = 0.05,
                        kMostStall = 0.05, kMostImpossible = 0.5,
                        kMostSlow = 0.5;

const char *ingot::runtime::getName(Cause cause) {
  switch (cause) {
  case Cause::SlowStorage:
    return "slow storage";
  case Cause::SlowDecoding:
    return "slow decoding";
  case Cause::SlowLink:
    return "slow link";
  case Cause::UnequalRanks:
    return "unequal ranks";
  case Cause::SmallBatch:
    return "small batch";
  case Cause::TooManyThreads:
    return "too many threads";
  case Cause::FrequentSaves:
    return "frequent saves";
  case Cause::WrongMachineProfile:
    return "wrong machine profile";
  case Cause::MemoryPressure:
    return "memory pressure";
  }
  return "";
}

static double getShare(double part, const Evidence &evidence) {
  return part / std::max(evidence.step, 1e-9);
}

static std::string percent(double part) {
  return fmt::format("{:.0f}%", 100 * part);
}

std::optional<bool> ingot::runtime::waitsForStorage(const Evidence &e) {
  if (getShare(e.data, e) < kMostData)
    return std::nullopt;
  auto workers = static_cast<double>(std::max<int64_t>(e.workers, 1));
  // Threads that were done in time but had no core do not explain the wait.
  if (e.decode / workers < 0.5 * e.data)
    return std::nullopt;
  // With more threads of kernels than cores, all of them wait for a core.
  if (e.threads > e.cores && e.decodeProcessor < 0.5 * e.step)
    return std::nullopt;
  bool isBusy = e.others > kMostOthers;
  if (e.decodeDelay) {
    double storage =
        std::max(0.0, e.decode - e.decodeProcessor - *e.decodeDelay);
    // Other processes have the cores that these threads wait for.
    if (isBusy && (storage + e.decodeProcessor) / workers < 0.5 * e.data)
      return std::nullopt;
    return storage > e.decodeProcessor;
  }
  // Threads that neither compute nor are known to wait for a core wait for
  // storage; on a machine that is busy, it may be a core.
  bool isStorage = e.decodeProcessor < 0.5 * e.decode;
  if (isStorage && isBusy && e.decodeProcessor < kMostData * e.step)
    return std::nullopt;
  return isStorage && !isBusy;
}

int64_t ingot::runtime::adviseWorkers(const Evidence &e, double least,
                                      bool isStorage) {
  constexpr int64_t most = 16;
  int64_t limit =
      isStorage ? most : std::min(most, std::max<int64_t>(e.cores, 1));
  auto wanted =
      static_cast<int64_t>(std::ceil(e.decode / (0.8 * std::max(least, 1e-3))));
  return std::clamp<int64_t>(wanted, 1, limit);
}

static std::optional<Finding> findData(const Evidence &e) {
  std::optional<bool> isStorage = waitsForStorage(e);
  if (!isStorage)
    return std::nullopt;
  Finding finding;
  finding.cause = *isStorage ? Cause::SlowStorage : Cause::SlowDecoding;
  finding.evidence = fmt::format(
      "steps wait {:.2f} of {:.2f} ms for data; {} {} spend {:.2f} ms on a "
      "batch, {} of it computing",
      e.data, e.step, std::max<int64_t>(e.workers, 1),
      e.workers > 1 ? "threads" : "thread", e.decode,
      percent(e.decodeProcessor / e.decode));
  finding.stake = getShare(e.data, e);
  constexpr double worthwhile = 0.05;
  if (e.triedWorkers != 0) {
    double gain = 1 - e.triedStep / e.step;
    finding.evidence += fmt::format("; with {} threads, steps took {:.2f} ms",
                                    e.triedWorkers, e.triedStep);
    if (gain > worthwhile) {
      finding.advice.push_back({"--workers", std::to_string(e.triedWorkers)});
      finding.gain = gain;
    }
    return finding;
  }
  // The step without the wait cannot be shorter than the work of all threads on
  // the cores, and the batches not faster than the threads make them.
  double others = e.step - e.data;
  double busy =
      (e.getKernels() * static_cast<double>(std::max<int64_t>(e.threads, 1)) +
       e.decodeProcessor) /
      static_cast<double>(std::max<int64_t>(e.cores, 1));
  int64_t workers = adviseWorkers(e, std::max(others, busy), *isStorage);
  // Cores share caches, memory and clocks with busy neighbours.
  constexpr double crowding = 1.3;
  double predicted =
      std::max({others, crowding * busy,
                crowding * e.decode / static_cast<double>(workers)});
  if (workers > e.workers && predicted < (1 - worthwhile) * e.step) {
    finding.advice.push_back({"--workers", std::to_string(workers)});
    // Requests that overlap help against latency, but not where a disk reads as
    // much as it can: which of them it is cannot be seen.
    if (!*isStorage)
      finding.gain = 1 - predicted / e.step;
  }
  return finding;
}

static std::optional<Finding> findLink(const Evidence &e) {
  double exposed = e.communication - e.synchronization;
  if (getShare(exposed, e) < kMostCommunication || e.link <= 0)
    return std::nullopt;
  Finding finding;
  finding.cause = Cause::SlowLink;
  finding.evidence = fmt::format(
      "steps wait {:.2f} of {:.2f} ms for collectives; a rank sends {:.2f} MB "
      "a step, at {:.0f} Mbit/s",
      exposed, e.step, e.sentBytes * 1e-6, e.sentBytes * 8e-3 / e.link);
  // 8 bits and a scale instead of 32 bits, and a time for computing them.
  constexpr double bytesPerMillisecond = 1e6, least = 0.05;
  double rest = e.step - exposed + e.sentBytes / bytesPerMillisecond;
  double sent = e.link * 0.26;
  double hidden = std::max(0.0, e.link - exposed);
  double predicted = rest + std::max(0.0, sent - hidden);
  // A link on which less data does not help is not slow.
  if (predicted > (1 - least) * e.step)
    return std::nullopt;
  finding.advice.push_back({"--grad-comm", "int8", false, true});
  finding.gain = 1 - predicted / e.step;
  return finding;
}

static std::optional<Finding> findImbalance(const Evidence &e) {
  if (getShare(e.synchronization, e) < kMostSynchronization)
    return std::nullopt;
  return Finding{Cause::UnequalRanks,
                 fmt::format("this rank waits {:.2f} of {:.2f} ms for ranks "
                             "that start later",
                             e.synchronization, e.step),
                 {},
                 std::nullopt,
                 getShare(e.synchronization, e)};
}

static std::optional<Finding> findSaves(const Evidence &e) {
  if (getShare(e.saving, e) < kMostSaving || e.saveEvery == 0)
    return std::nullopt;
  double each = e.saving * static_cast<double>(e.saveEvery);
  double others = std::max(e.step - e.saving, 0.01 * e.step);
  // One percent of the time for saving.
  auto every = static_cast<int64_t>(std::ceil(each / (0.01 * others)));
  return Finding{
      Cause::FrequentSaves,
      fmt::format("a checkpoint takes {:.2f} ms every {} {} of {:.2f} ms", each,
                  e.saveEvery, e.saveEvery == 1 ? "step" : "steps", others),
      {{"--save-every", std::to_string(every)}},
      1 - (others + each / static_cast<double>(every)) / e.step};
}

static std::optional<Finding> findThreads(const Evidence &e) {
  if (e.threads <= e.cores)
    return std::nullopt;
  Finding finding{
      Cause::TooManyThreads,
      fmt::format("kernels run in {} threads on {} {}", e.threads, e.cores,
                  e.cores == 1 ? "core" : "cores"),
      {{"OMP_NUM_THREADS", std::to_string(e.cores), /*isVariable=*/true}},
      std::nullopt};
  // Threads have equal parts of a kernel. Where the cores take turns of which
  // the last one leaves some of them idle, part of that time is lost: a third
  // and more was measured. The system balances the rest. Full turns cost
  // little: how much cannot be told.
  constexpr double unbalanced = 0.35;
  int64_t turns = (e.threads + e.cores - 1) / e.cores;
  double idle =
      1 - static_cast<double>(e.threads) / static_cast<double>(turns * e.cores);
  if (idle > 0)
    finding.gain = unbalanced * idle * getShare(e.getKernels(), e);
  return finding;
}

static std::optional<Finding> findMemory(const Evidence &e) {
  if (e.memoryStall < kMostStall && e.majorFaults < 100)
    return std::nullopt;
  Finding finding{
      Cause::MemoryPressure,
      fmt::format("processes wait for memory {} of the time, and a step reads "
                  "{:.0f} pages back from a disk",
                  percent(e.memoryStall), e.majorFaults),
      {{"--memory-budget", "at-least:50%", false, true}},
      std::nullopt};
  // A step that fits does not wait, and computes half of its activations again.
  constexpr double recomputed = 0.5;
  double busy = 1 - std::min(e.memoryStall, 1.0);
  double gain = e.memoryStall - recomputed * busy * getShare(e.forward, e);
  if (gain > 0)
    finding.gain = gain;
  finding.stake = e.memoryStall;
  return finding;
}

static Finding blameProfile(const Evidence &e, double part, const char *what) {
  return {Cause::WrongMachineProfile,
          fmt::format("{} of the time of kernels is in those that {}, most of "
                      "it in {}",
                      percent(part), what, e.kernel),
          {{"--machine", "measured", false, true}},
          std::nullopt};
}

static std::optional<Finding> findImpossible(const Evidence &e) {
  if (e.impossible < kMostImpossible)
    return std::nullopt;
  return blameProfile(e, e.impossible,
                      "are faster than the machine profile allows");
}

static std::optional<Finding> findSlow(const Evidence &e) {
  if (e.slow < kMostSlow)
    return std::nullopt;
  return blameProfile(e, e.slow,
                      "take more than 20 times what the machine profile says");
}

static std::optional<Finding> findBatch(const Evidence &e) {
  // What does not grow with the batch.
  double fixed = e.optimizer + e.launch + e.rest;
  double perBatch = e.forward + e.backward;
  constexpr double most = 0.4, times = 4, worthwhile = 0.25;
  if (getShare(fixed, e) < most)
    return std::nullopt;
  double others = e.step - fixed - perBatch;
  double predicted = (fixed + others + times * perBatch) / times;
  double gain = 1 - predicted / e.step;
  if (gain < worthwhile)
    return std::nullopt;
  auto batch = static_cast<int64_t>(times) * e.batch;
  return Finding{Cause::SmallBatch,
                 fmt::format("{:.2f} of {:.2f} ms do not depend on the batch "
                             "(optimizer {:.2f}, between kernels {:.2f}, rest "
                             "{:.2f})",
                             fixed, e.step, e.optimizer, e.launch, e.rest),
                 {{"--batch", std::to_string(batch), false, true}},
                 gain};
}

std::vector<Finding> ingot::runtime::diagnose(const Evidence &evidence) {
  std::vector<Finding> findings;
  for (auto *find :
       {findData, findLink, findImbalance, findSaves, findThreads, findMemory})
    if (std::optional<Finding> finding = find(evidence))
      findings.push_back(std::move(*finding));
  // Other causes slow down kernels, and what does not depend on the batch.
  for (auto *find : {findBatch, findImpossible, findSlow})
    if (findings.empty())
      if (std::optional<Finding> finding = find(evidence))
        findings.push_back(std::move(*finding));
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding &a, const Finding &b) {
                     return a.gain.value_or(a.stake) > b.gain.value_or(b.stake);
                   });
  return findings;
}

static std::string describeAdvice(const Advice &advice) {
  if (advice.isVariable)
    return advice.option + "=" + advice.value;
  return (advice.isForCompiler ? "ingotc " : "") + advice.option + " " +
         advice.value;
}

std::string
ingot::runtime::describeDiagnosis(const Evidence &e,
                                  const std::vector<Finding> &findings) {
  std::string text = fmt::format("{} steps of {:.3f} ms\n", e.steps, e.step);
  auto add = [&](const char *name, double time) {
    if (time > 0)
      text += fmt::format("  {:<22} {:>10.3f} ms {:>5.1f}%\n", name, time,
                          100 * getShare(time, e));
  };
  add("waits for data", e.data);
  add("forward", e.forward);
  add("backward", e.backward);
  add("optimizer", e.optimizer);
  add("exposed communication", e.communication - e.synchronization);
  add("synchronization", e.synchronization);
  add("saving", e.saving);
  add("launch", e.launch);
  add("rest", e.rest);
  if (e.others > kMostOthers)
    text += fmt::format("other processes took {} of the machine's processors: "
                        "times are longer than they need to be\n",
                        percent(e.others));
  if (findings.empty())
    return text + "nothing to gain: the step is compute\n";
  for (const Finding &finding : findings) {
    text += fmt::format("{}: {}\n", getName(finding.cause), finding.evidence);
    for (const Advice &advice : finding.advice)
      text += fmt::format(
          "  try {}{}\n", describeAdvice(advice),
          finding.gain ? fmt::format(": saves about {} of the time of a sample",
                                     percent(*finding.gain))
                       : "");
  }
  return text;
}
