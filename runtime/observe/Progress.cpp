// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The progress of training.
//
//===----------------------------------------------------------------------===//

#include "runtime/observe/Progress.h"

#include "runtime/core/Error.h"
#include "runtime/core/console/Console.h"
#include "runtime/core/text/Quantities.h"
#include "runtime/observe/Watch.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <string>

using namespace ingot::runtime;

static double getMilliseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

Progress::Progress(Console &console, MetricsLog &log, const Watch *watch,
                   Settings settings, DataCheck findProblem)
    : console(console), log(log), watch(watch), settings(std::move(settings)),
      statistics(this->settings.readCommunication),
      findProblem(std::move(findProblem)), runStart(Clock::now()),
      stepStart(runStart), epochStart(runStart) {}

MetricList Progress::measure(const MetricSums &sums, double loss) const {
  MetricList values;
  for (const std::string &name : settings.metrics)
    values.push_back({"train_" + name,
                      computeMetric(name, sums, loss).value_or(std::nan(""))});
  return values;
}

void Progress::add(StepMetrics metrics, bool endsEpoch, bool endsRun,
                   double dataMs, int64_t tokens) {
  Clock::time_point now = Clock::now();
  metrics.stepMs = getMilliseconds(now - stepStart);
  metrics.samplesPerSecond =
      static_cast<double>(metrics.samples) / metrics.stepMs * 1e3;
  if (tokens != 0) {
    metrics.cost.tokens = tokens;
    metrics.tokensPerSecond =
        static_cast<double>(tokens) / metrics.stepMs * 1e3;
  }
  metrics.elapsed = getMilliseconds(now - runStart) * 1e-3;
  stepStart = now;
  step = metrics.step;
  ++stepsAdded;
  ++epochTaken;
  epochSamples += metrics.samples;
  statistics.add(metrics.stepMs, dataMs, metrics.cost);
  // Samples without a finite loss have no metrics either.
  bool isFinite = std::isfinite(metrics.loss);
  metrics.values = measure(metrics.sums, metrics.loss);
  for (auto &[name, value] : metrics.values)
    if (!isFinite)
      value = std::nan("");
  bool isLogged =
      step % settings.logEvery == 0 || endsEpoch || endsRun || !isFinite;
  if (isLogged) {
    if (endsRun || statistics.isFull() ||
        (endsEpoch && statistics.isWorthwhile()))
      metrics.summary = statistics.take();
    log.write(metrics);
  }
  checkFinite(metrics);
  if (!isFinite)
    return;
  epochLoss += metrics.loss;
  epochSums.add(metrics.sums);
  ++epochSteps;
}

/// Throws badInput if the samples of the step explain that its loss is not
/// finite.
void Progress::checkData(int64_t number) const {
  if (auto problem = findProblem(number))
    throw badInput(fmt::format("step {}", number),
                   "the loss is not finite: " + *problem,
                   "correct the data, or leave these samples out");
}

std::string Progress::explain(const StepMetrics &metrics) const {
  if (std::isfinite(metrics.loss))
    return "";
  std::optional<std::string> problem = findProblem(metrics.step);
  return problem ? ": " + *problem : "";
}

void Progress::checkFinite(const StepMetrics &metrics) {
  std::optional<std::string> culprit;
  if (watch)
    culprit = watch->describeCulprit();
  lastSkipped = metrics.skipped;
  std::string where = fmt::format("step {}", metrics.step);
  if (metrics.skipped && metrics.lossScale) {
    constexpr int64_t maxAtFloor = 10;
    ++skippedSteps;
    skippedAtFloor = *metrics.lossScale <= 1 ? skippedAtFloor + 1 : 0;
    // No scale helps samples that are not finite.
    if (!settings.skips && !std::isfinite(metrics.loss))
      checkData(metrics.step);
    if (culprit)
      console.line(fmt::format("{}: skipped at loss scale {}: {}", where,
                               *metrics.lossScale, *culprit));
    else if (std::string reason = explain(metrics); !reason.empty())
      console.line(fmt::format("{}: skipped{}", where, reason));
    if (skippedAtFloor < maxAtFloor)
      return;
    checkData(metrics.step);
    throw NotFinite(
        failure(where,
                fmt::format("gradients are not finite for {} steps at a loss "
                            "scale of 1{}",
                            maxAtFloor, culprit ? ": " + *culprit : ""),
                culprit ? "compile with --keep-fp32 for that node, or lower "
                          "--lr"
                        : "--watch nan names the op"));
  }
  if (metrics.skipped && settings.skips) {
    constexpr int64_t maxInARow = 100;
    ++skippedSteps;
    console.line(fmt::format("{}: skipped: its gradients are not finite{}",
                             where,
                             culprit ? ": " + *culprit : explain(metrics)));
    if (++skippedInARow < maxInARow)
      return;
    checkData(metrics.step);
    throw NotFinite(failure(
        where, fmt::format("gradients are not finite for {} steps", maxInARow),
        "lower --lr, or check the data for NaN; --watch nan names the op"));
  }
  skippedInARow = 0;
  skippedAtFloor = 0;
  bool isLossFinite = std::isfinite(metrics.loss);
  if (isLossFinite && !metrics.skipped && !(watch && watch->sawNan()))
    return;
  checkData(metrics.step);
  std::string problem = metrics.skipped            ? "gradients are not finite"
                        : isLossFinite             ? "a value is not a number"
                        : std::isnan(metrics.loss) ? "the loss is not a number"
                                                   : "the loss is infinite";
  throw NotFinite(failure(
      where, problem + (culprit ? ": " + *culprit : ""),
      culprit ? "lower --lr, add --warmup, or check the data for NaN"
              : "lower --lr, add --warmup, or check the data for NaN; --watch "
                "nan names the first op"));
}

void Progress::pause() { paused = Clock::now(); }

void Progress::resume() {
  stepStart = Clock::now();
  epochStart += stepStart - paused;
}

std::string Progress::describe(int64_t epoch, int64_t totalSteps,
                               Clock::time_point now) const {
  double seconds = getMilliseconds(now - epochStart) * 1e-3;
  std::string loss = "no finite loss";
  if (epochSteps != 0) {
    double mean = epochLoss / static_cast<double>(epochSteps);
    loss = fmt::format("loss {:.4f}", mean);
    for (const auto &[name, value] : measure(epochSums, mean))
      loss += fmt::format("  {} {:.4f}", name, value);
  }
  std::string ofAll =
      totalSteps == kEndless ? "" : fmt::format("/{}", totalSteps);
  return fmt::format("epoch {}  step {}{}  {}  {} samples/s", epoch, step,
                     ofAll, loss,
                     describeRate(static_cast<double>(epochSamples) /
                                  std::max(seconds, 1e-9)));
}

/// Describes the time left, if all steps take as long as those so far, with
/// what comes between them; empty at the end.
std::string Progress::describeLeft(int64_t totalSteps,
                                   Clock::time_point now) const {
  if (step >= totalSteps || totalSteps == kEndless || stepsAdded == 0)
    return "";
  double each =
      getMilliseconds(now - runStart) * 1e-3 / static_cast<double>(stepsAdded);
  return "  " + describeSeconds(each * static_cast<double>(totalSteps - step)) +
         " left";
}

void Progress::endEpoch(int64_t epoch, int64_t totalSteps) {
  Clock::time_point now = Clock::now();
  // Epochs of a few steps have no line of their own where others were asked
  // for.
  bool isShort = !console.isInteractive() && epochTaken < settings.printEvery;
  if (!isShort || step >= totalSteps || step % settings.printEvery == 0)
    console.line(describe(epoch, totalSteps, now) + "  " +
                 describeMeasured(getMilliseconds(now - epochStart) * 1e-3) +
                 describeLeft(totalSteps, now));
  epochLoss = 0;
  epochSums = {};
  epochSteps = epochSamples = epochTaken = 0;
  epochStart = now;
}

void Progress::show(int64_t epoch, int64_t totalSteps) {
  constexpr auto interval = std::chrono::milliseconds(100);
  Clock::time_point now = Clock::now();
  auto describeNow = [&] {
    return describe(epoch, totalSteps, now) + describeLeft(totalSteps, now);
  };
  if (!console.isInteractive()) {
    if (settings.printEvery != 0 && step % settings.printEvery == 0)
      console.line(describeNow());
    return;
  }
  if (now - lastShown < interval)
    return;
  lastShown = now;
  console.progress(describeNow());
}
