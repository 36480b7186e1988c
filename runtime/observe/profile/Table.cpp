// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tables of a profile: the parts of a step, and its kernels.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Text.h"
#include "runtime/observe/StepStatistics.h"
#include "runtime/observe/profile/Profile.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>

using namespace ingot::runtime;

namespace {

/// The sums over the runs of a kernel, or of several.
struct Sum {
  double microseconds = 0, bytes = 0, flops = 0, bound = 0;
  int64_t calls = 0;

  void add(double time, const KernelSpec *kernel) {
    microseconds += time;
    ++calls;
    if (!kernel)
      return;
    bytes += static_cast<double>(kernel->bytes);
    flops += static_cast<double>(kernel->flops);
    bound += kernel->boundMicroseconds;
  }
  double getSeconds() const { return std::max(microseconds, 1e-3) * 1e-6; }
};

/// A kernel, or a function, whose self time is what its kernels leave.
struct Row {
  ingot_event event;
  Sum sum;
  double self = 0;
  std::vector<double> times;
};

using Rows = std::map<std::pair<int32_t, int64_t>, Row>;

} // namespace

static double getShare(double part, double whole) {
  return 100 * part / std::max(whole, 1e-9);
}

static Rows collectRows(const Profile &profile, const Manifest &manifest) {
  Rows rows;
  std::map<int32_t, double> inKernels;
  for (const ingot_event &event : profile.events) {
    Row &row = rows[{event.function, event.kernel}];
    double time = TimeSpan{event.begin, event.end}.getMicroseconds();
    row.event = event;
    row.sum.add(time, findKernel(manifest, event));
    row.self += time;
    row.times.push_back(time);
    if (event.kernel >= 0)
      inKernels[event.function] += time;
  }
  for (auto &[key, row] : rows) {
    if (key.second < 0)
      row.self = std::max(0.0, row.self - inKernels[key.first]);
    std::sort(row.times.begin(), row.times.end());
  }
  return rows;
}

static bool isTraining(const FunctionSpec &function) {
  return function.name != "eval_step" && function.name != "predict";
}

/// Says where the time of the steps goes.
static std::string makePartTable(const Manifest &manifest,
                                 const Profile &profile, const Rows &rows) {
  std::vector<double> times;
  double total = 0, data = 0, run = 0, between = 0;
  for (const ProfiledStep &step : profile.steps) {
    times.push_back(step.time.getMicroseconds());
    total += times.back();
    for (const TimeSpan &wait : step.data)
      data += wait.getMicroseconds();
  }
  if (times.empty())
    return "";
  std::sort(times.begin(), times.end());
  constexpr std::array parts = {"forward", "backward", "optimizer",
                                "communication"};
  std::map<std::string, Sum> sums;
  Sum all;
  for (const auto &[key, row] : rows) {
    if (!isTraining(manifest.functions[row.event.function]))
      continue;
    if (row.event.kernel < 0) {
      run += row.sum.microseconds;
      between += row.self;
      continue;
    }
    const KernelSpec *kernel = findKernel(manifest, row.event);
    bool isKnown = kernel && std::find(parts.begin(), parts.end(),
                                       kernel->part) != parts.end();
    for (Sum *sum : {&sums[isKnown ? kernel->part : "other kernels"], &all}) {
      sum->microseconds += row.sum.microseconds;
      sum->calls += row.sum.calls;
      sum->bytes += row.sum.bytes;
      sum->flops += row.sum.flops;
      sum->bound += row.sum.bound;
    }
  }
  auto count = static_cast<double>(times.size());
  std::string text = fmt::format(
      "{} steps, {:.3f} ms each (P50 {:.3f}, P90 {:.3f}, P99 "
      "{:.3f})\n{:<18} {:>10} {:>6} {:>8} {:>10} {:>10} {:>8}\n",
      times.size(), total / count * 1e-3, getPercentile(times, 0.5) * 1e-3,
      getPercentile(times, 0.9) * 1e-3, getPercentile(times, 0.99) * 1e-3,
      "part", "ms/step", "share", "calls", "MB/step", "MFLOP", "of best");
  auto add = [&](const std::string &name, const Sum &sum) {
    text += fmt::format("{:<18} {:>10.3f} {:>5.1f}% {:>8.0f} {:>10.2f} "
                        "{:>10.2f} {:>7.0f}%\n",
                        name, sum.microseconds / count * 1e-3,
                        getShare(sum.microseconds, total),
                        static_cast<double>(sum.calls) / count,
                        sum.bytes / count * 1e-6, sum.flops / count * 1e-6,
                        getShare(sum.bound, sum.microseconds));
  };
  auto addTime = [&](const char *name, double time) {
    text += fmt::format("{:<18} {:>10.3f} {:>5.1f}%\n", name,
                        time / count * 1e-3, getShare(time, total));
  };
  for (const char *part : parts)
    if (sums.count(part))
      add(part, sums[part]);
  if (sums.count("other kernels"))
    add("other kernels", sums["other kernels"]);
  addTime("between kernels", between);
  addTime("waits for data", data);
  addTime("rest of the step", std::max(0.0, total - run - data));
  return text + "\n";
}

std::string ingot::runtime::makeProfileTable(const Manifest &manifest,
                                             const Profile &profile) {
  Rows rows = collectRows(profile, manifest);
  std::vector<const Row *> sorted;
  double total = 0;
  for (const auto &[key, row] : rows) {
    sorted.push_back(&row);
    total += row.self;
  }
  std::sort(sorted.begin(), sorted.end(),
            [](auto *a, auto *b) { return a->self > b->self; });

  constexpr size_t maxRows = 30;
  std::string text = makePartTable(manifest, profile, rows);
  text += fmt::format("{:>10} {:>10} {:>6} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9} "
                      "{:>8} {:>8} {:>7}  {:<13}  {}\n",
                      "self ms", "total ms", "share", "calls", "P50 us",
                      "P90 us", "P99 us", "MB", "MFLOP", "GB/s", "GFLOP/s",
                      "of best", "part", "kernel");
  for (size_t i = 0; i < std::min(sorted.size(), maxRows); ++i) {
    const Row &row = *sorted[i];
    const Sum &sum = row.sum;
    const KernelSpec *kernel = findKernel(manifest, row.event);
    auto calls = static_cast<double>(sum.calls);
    std::string name =
        manifest.getSymbol(manifest.functions[row.event.function]);
    if (row.event.kernel >= 0)
      name += "." + describeName(getEventName(manifest, row.event));
    // The least time by the roofline model, as a fraction of the time taken.
    text += fmt::format(
        "{:>10.2f} {:>10.2f} {:>5.1f}% {:>7} {:>9.1f} {:>9.1f} {:>9.1f} "
        "{:>9.3f} {:>9.3f} {:>8.2f} {:>8.2f} {:>6.0f}%  {:<13}  {}\n",
        row.self * 1e-3, sum.microseconds * 1e-3, getShare(row.self, total),
        sum.calls, getPercentile(row.times, 0.5), getPercentile(row.times, 0.9),
        getPercentile(row.times, 0.99), sum.bytes / calls * 1e-6,
        sum.flops / calls * 1e-6, sum.bytes / sum.getSeconds() * 1e-9,
        sum.flops / sum.getSeconds() * 1e-9,
        getShare(sum.bound, sum.microseconds),
        kernel ? kernel->part : "between", name);
  }
  if (sorted.size() > maxRows)
    text += fmt::format("... and {} more\n", sorted.size() - maxRows);
  if (profile.events.size() >= ingot_context::kMaxEvents)
    text += fmt::format("the profile ends after {} events\n",
                        profile.events.size());
  return text;
}
