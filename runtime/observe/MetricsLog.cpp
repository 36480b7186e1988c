// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The log of a run.
//
//===----------------------------------------------------------------------===//

#include "runtime/observe/MetricsLog.h"

#include "runtime/core/Error.h"
#include "runtime/core/File.h"

#include <cerrno>
#include <cmath>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unistd.h>

using namespace ingot::runtime;

/// Formats the shortest text that reads back as the same number; JSON has no
/// NaN.
template <typename T> static std::string format(T value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

static Error cannotWrite(const std::string &path) {
  return failure(path, "cannot write the log: " + describeErrno(),
                 "check the path, its permissions and the free space");
}

/// Returns the lines of an existing log for steps up to `step`.
static std::string selectUntil(std::string_view text, int64_t step) {
  std::string kept;
  while (!text.empty()) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos)
      break;
    std::string_view line = text.substr(0, end + 1);
    text.remove_prefix(end + 1);
    auto json = nlohmann::json::parse(line, nullptr, false);
    bool isOurs = json.is_object() && json.contains("step") &&
                  json["step"].is_number_integer();
    if (isOurs && json["step"].get<int64_t>() <= step)
      kept += line;
  }
  return kept;
}

void MetricsLog::open(int flags) {
  descriptor =
      ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | flags, 0666);
  if (descriptor < 0)
    throw cannotWrite(path);
}

MetricsLog::MetricsLog(const std::string &path,
                       std::optional<int64_t> keepUntil)
    : path(path) {
  if (path.empty())
    return;
  if (auto obstacle = describeObstacle(path))
    throw failure(path, "cannot write the log: it is " + *obstacle,
                  "give the path of a file");
  if (!keepUntil || !std::filesystem::exists(path)) {
    open(O_CREAT | O_TRUNC);
    return;
  }
  // The old lines stay in the file at every moment: cut off its end, or replace
  // it by another one.
  std::string kept;
  bool isStart;
  {
    MappedFile old(path);
    kept = selectUntil(old.getBytes(), *keepUntil);
    isStart = old.getBytes().starts_with(kept);
  }
  if (!isStart) {
    AtomicFile file(path);
    file.write(kept);
    file.commit();
  }
  open(0);
  size = static_cast<int64_t>(kept.size());
  if (ftruncate(descriptor, size) != 0)
    throw cannotWrite(path);
}

MetricsLog::~MetricsLog() {
  if (descriptor >= 0)
    close(descriptor);
}

void MetricsLog::writeLine(const std::string &line) {
  // Lines of many steps, beyond which the log has a gap.
  constexpr size_t mostPending = size_t(64) << 20;
  if (pending.size() + line.size() <= mostPending)
    pending += line;
  size_t written = 0;
  while (written < pending.size()) {
    ssize_t some =
        pwrite(descriptor, pending.data() + written, pending.size() - written,
               size + static_cast<int64_t>(written));
    if (some < 0 && errno == EINTR)
      continue;
    if (some <= 0) {
      problem = cannotWrite(path);
      // Readers find whole lines only.
      (void)!ftruncate(descriptor, size);
      return;
    }
    written += static_cast<size_t>(some);
  }
  size += static_cast<int64_t>(written);
  pending.clear();
  problem.reset();
}

void MetricsLog::write(const StepMetrics &metrics) {
  if (descriptor < 0)
    return;
  std::string norm;
  if (metrics.gradNorm)
    norm = fmt::format("\"grad_norm\": {}, ", format(*metrics.gradNorm));
  if (metrics.lossScale)
    norm += fmt::format("\"loss_scale\": {}, ", format(*metrics.lossScale));
  if (metrics.isGuarded)
    norm += fmt::format("\"skipped\": {}, ", metrics.skipped);
  std::string more;
  if (metrics.data)
    more = fmt::format(
        ", \"data_wait_ms\": {:.3f}, \"decode_ms\": {:.3f}, \"queue\": {}",
        metrics.data->waitMs, metrics.data->decodeMs, metrics.data->queue);
  if (metrics.data && metrics.data->padding)
    more += fmt::format(", \"padding\": {:.4f}", *metrics.data->padding);
  if (metrics.summary)
    more += ", \"stats\": " + metrics.summary->toJson();
  writeLine(fmt::format("{{\"step\": {}, \"loss\": {}, \"lr\": {}, {}"
                        "\"step_ms\": {:.3f}, \"samples_per_s\": {:.1f}, "
                        "\"epoch\": {}, \"elapsed_s\": {:.3f}{}}}\n",
                        metrics.step, format(metrics.loss), format(metrics.lr),
                        norm, metrics.stepMs, metrics.samplesPerSecond,
                        metrics.epoch, metrics.elapsed, more));
}

void MetricsLog::write(const EvalMetrics &metrics) {
  if (descriptor < 0)
    return;
  std::string line = fmt::format("{{\"step\": {}", metrics.step);
  for (const auto &[name, value] : metrics.values)
    line += fmt::format(", \"{}\": {}", name, format(value));
  writeLine(line + "}\n");
}

void MetricsLog::cutAfter(int64_t step) {
  if (descriptor < 0)
    return;
  std::string kept;
  try {
    MappedFile file(path);
    kept = selectUntil(file.getBytes().substr(0, size), step);
    // Lines are in the order of their steps.
    if (!file.getBytes().starts_with(kept))
      return;
  } catch (const Error &error) {
    problem = error;
    return;
  }
  pending = selectUntil(pending, step);
  size = static_cast<int64_t>(kept.size());
  if (ftruncate(descriptor, size) != 0)
    problem = cannotWrite(path);
}
