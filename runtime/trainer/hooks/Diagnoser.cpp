// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/hooks/Diagnoser.h"

#include "runtime/comm/Communicator.h"
#include "runtime/core/Text.h"
#include "runtime/trainer/run/RunPlan.h"
#include "runtime/trainer/save/Checkpointing.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sys/resource.h>
#include <unistd.h>

using namespace ingot::runtime;
using Clock = std::chrono::steady_clock;

static double getMilliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

Diagnoser::Diagnoser(const RunContext &context, const HookSeams &seams)
    : context(context), seams(seams),
      profiler(context.session.getContext(), {0, kWarmup, kSteps - kWarmup, 1}),
      begin(Clock::now()), first(readCounters()) {}

Diagnoser::Counters Diagnoser::readCounters() {
  Counters counters;
  counters.time = Clock::now();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  counters.majorFaults = static_cast<double>(usage.ru_majflt);
  counters.processors = readProcessorUse();
  // Where the kernel counts it: "some avg10=0.00 ... total=MICROSECONDS".
  std::ifstream pressure("/proc/pressure/memory");
  std::string word;
  while (pressure >> word)
    if (word.starts_with("total=")) {
      counters.memoryStallMs = std::strtod(word.c_str() + 6, nullptr) * 1e-3;
      break;
    }
  return counters;
}

void Diagnoser::endStep(int64_t number, double) {
  profiler.endStep(number);
  if (++steps == kWarmup)
    first = readCounters();
  if (steps == kSteps)
    last = readCounters();
  // What was saved between two steps that are measured.
  if (steps > kWarmup + 1 && steps <= kSteps)
    saving += savingNow;
  if (steps == kSteps + kSettle)
    tried = Clock::now();
  else if (steps > kSteps + kSettle)
    triedSaving += savingNow;
  savingNow = 0;
  triedMs = getMilliseconds(Clock::now() - tried) - triedSaving;
  if (std::optional<int64_t> wanted = startTrial()) {
    triedWorkers = *wanted;
    seams.setWorkers(*wanted);
  }
}

void Diagnoser::addResults(const StepResults &results) {
  if (!isMeasuring())
    return;
  const QueueTimes &times = results.data;
  decode += times.decodeMs;
  processor += times.processorMs;
  waits += times.waitMs;
  if (times.delayMs)
    delay = delay.value_or(0) + *times.delayMs;
  workers = std::max(workers, times.workers);
}

Evidence Diagnoser::summarizeData() const {
  Evidence evidence;
  auto [threads, cores] = context.session.getDevice().getParallelism();
  evidence.threads = threads;
  evidence.cores = cores;
  evidence.workers = workers;
  constexpr double count = kSteps - kWarmup;
  evidence.step = getMilliseconds(last->time - first.time) / count;
  evidence.data = waits / count;
  evidence.decode = decode / count;
  evidence.decodeProcessor = processor / count;
  if (delay)
    evidence.decodeDelay = *delay / count;
  return evidence;
}

std::optional<int64_t> Diagnoser::startTrial() const {
  if (steps != kSteps || context.ranks.getSize() != 1)
    return std::nullopt;
  // Samples that were read before come out of the system's cache.
  int64_t begin = seams.plan.getFirst() + 1;
  bool isNew =
      seams.plan.getEpoch(begin) == seams.plan.getEpoch(begin + kMost - 1);
  Evidence evidence = summarizeData();
  std::optional<bool> isStorage = waitsForStorage(evidence);
  if (!isStorage || (*isStorage && !isNew))
    return std::nullopt;
  int64_t wanted =
      adviseWorkers(evidence, evidence.step - evidence.data, *isStorage);
  if (wanted <= std::max<int64_t>(workers, 1))
    return std::nullopt;
  return wanted;
}

bool Diagnoser::isDone() const {
  // Ranks end together, after as many steps.
  constexpr auto longest = std::chrono::seconds(60);
  constexpr int64_t least = 10;
  if (triedWorkers != 0)
    return steps >= kMost;
  return steps >= kSteps ||
         (context.ranks.getSize() == 1 && steps >= kWarmup + least &&
          Clock::now() - begin > longest);
}

void Diagnoser::addKernels(const Profile &profile, Evidence &evidence) const {
  const Manifest &manifest = context.getManifest();
  struct Sum {
    double time = 0, calls = 0;
  };
  std::map<const KernelSpec *, Sum> sums;
  double functions = 0, kernels = 0;
  for (const ingot_event &event : profile.events) {
    double time = getMilliseconds(event.end - event.begin);
    if (event.kernel < 0) {
      functions += time;
      continue;
    }
    kernels += time;
    const KernelSpec *kernel = findKernel(manifest, event);
    if (!kernel)
      continue;
    sums[kernel].time += time;
    sums[kernel].calls += 1;
  }
  double impossible = 0, slow = 0, compute = 0, most = 0;
  for (const auto &[kernel, sum] : sums) {
    bool isWait = kernel->part == "communication";
    double &part = isWait                        ? evidence.communication
                   : kernel->part == "optimizer" ? evidence.optimizer
                   : kernel->part == "backward"  ? evidence.backward
                                                 : evidence.forward;
    part += sum.time;
    if (isWait)
      continue;
    compute += sum.time;
    // Short calls say more of the clock than of the machine.
    constexpr double least = 0.02;
    double bound = kernel->boundMicroseconds * 1e-3,
           each = sum.time / sum.calls;
    if (bound <= 0 || each < least)
      continue;
    // Bounds are of data in memory: caches are several times faster.
    bool isImpossible = 5 * each < bound, isSlow = each > 20 * bound;
    impossible += isImpossible ? sum.time : 0;
    slow += isSlow ? sum.time : 0;
    if ((isImpossible || isSlow) && sum.time > most) {
      most = sum.time;
      evidence.kernel = describeName(kernel->name);
    }
  }
  evidence.impossible = impossible / std::max(compute, 1e-9);
  evidence.slow = slow / std::max(compute, 1e-9);
  evidence.launch = std::max(0.0, functions - kernels);
}

void Diagnoser::addLink(const Profile &profile, Evidence &evidence) const {
  std::set<int64_t> numbers;
  for (const ProfiledStep &step : profile.steps)
    numbers.insert(step.number);
  // Collectives that overlap share the link.
  std::vector<TimeSpan> spans;
  for (const CommunicationEvent &event : context.ranks.getEvents())
    if (numbers.count(event.step) && event.end > event.begin) {
      spans.push_back({event.begin, event.end});
      evidence.sentBytes += static_cast<double>(event.bytes);
    }
  std::sort(spans.begin(), spans.end(),
            [](auto &a, auto &b) { return a.begin < b.begin; });
  Clock::time_point end;
  for (const TimeSpan &span : spans)
    if (span.end > end) {
      evidence.link += getMilliseconds(span.end - std::max(end, span.begin));
      end = span.end;
    }
}

Evidence Diagnoser::measure(const Profile &profile) {
  Evidence evidence;
  const Manifest &manifest = context.getManifest();
  Communicator &ranks = context.ranks;
  const Options &options = context.options;
  evidence.ranks = ranks.getSize();
  evidence.batch = manifest.batch * manifest.gradAccumulation;
  evidence.saveEvery =
      options.save.save ? options.save.saveEvery.value_or(0) : 0;
  evidence.workers = workers;
  auto [threads, cores] = context.session.getDevice().getParallelism();
  evidence.threads = threads;
  evidence.cores = cores;
  evidence.steps = static_cast<int64_t>(profile.steps.size());
  if (profile.steps.empty())
    return evidence;
  addKernels(profile, evidence);
  addLink(profile, evidence);
  for (const ProfiledStep &step : profile.steps)
    for (const TimeSpan &span : step.data)
      evidence.data += span.getMicroseconds() * 1e-3;
  evidence.step = getMilliseconds(profile.steps.back().time.end -
                                  profile.steps.front().time.begin);
  evidence.saving = saving;
  evidence.decode = decode;
  evidence.decodeProcessor = processor;
  if (delay)
    evidence.decodeDelay = *delay / static_cast<double>(evidence.steps);
  if (triedWorkers != 0 && steps >= kMost) {
    evidence.triedWorkers = triedWorkers;
    evidence.triedStep = triedMs / kTried;
  }
  Counters end = last ? *last : readCounters();
  evidence.memoryStall = (end.memoryStallMs - first.memoryStallMs) /
                         std::max(1e-9, getMilliseconds(end.time - first.time));
  evidence.others = getOthersShare(first.processors, end.processors);
  evidence.majorFaults = end.majorFaults - first.majorFaults;
  // Whoever comes last makes the others wait.
  std::vector<double> busy(static_cast<size_t>(ranks.getSize()));
  busy[static_cast<size_t>(ranks.getRank())] =
      evidence.data + evidence.getKernels() + evidence.saving;
  ranks.allReduce(busy.data(), ranks.getSize(), DType::F64,
                  "times of a diagnosis");
  double longest = *std::max_element(busy.begin(), busy.end());
  evidence.synchronization =
      std::min(evidence.communication,
               longest - busy[static_cast<size_t>(ranks.getRank())]);
  auto count = static_cast<double>(evidence.steps);
  for (double *sum :
       {&evidence.step, &evidence.data, &evidence.forward, &evidence.backward,
        &evidence.optimizer, &evidence.communication, &evidence.synchronization,
        &evidence.saving, &evidence.launch, &evidence.decode,
        &evidence.decodeProcessor, &evidence.sentBytes, &evidence.link,
        &evidence.majorFaults})
    *sum /= count;
  evidence.rest = std::max(
      0.0, evidence.step - evidence.data - evidence.getKernels() -
               evidence.communication - evidence.saving - evidence.launch);
  return evidence;
}

void Diagnoser::finish() {
  profiler.finish();
  evidence = measure(profiler.take());
  seams.checkpointing.discard();
}

void Diagnoser::report(const Print &print) {
  // A signal may have come before the first step that counts.
  if (context.ranks.getRank() != 0 || evidence.steps == 0)
    return;
  std::optional<DiagnosisForm> form = context.options.report.diagnose;
  std::vector<Finding> findings = diagnose(evidence);
  if (form == DiagnosisForm::Json) {
    print(describeAsJson(evidence, findings));
    return;
  }
  print(describeDiagnosis(evidence, findings));
  if (form != DiagnosisForm::Apply || findings.empty())
    return;
  if (evidence.ranks > 1)
    print("--diagnose=apply is for runs with one rank\n");
  else
    print(applyDiagnosis(evidence, findings, context.options.line.words));
}
