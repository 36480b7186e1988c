// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The log of a run.
//
//===----------------------------------------------------------------------===//

#include "runtime/observe/MetricsLog.h"

#include "runtime/core/Error.h"
#include "runtime/core/File.h"

#include <cmath>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string_view>

using namespace ingot::runtime;

/// Formats the shortest text that reads back as the same number; JSON has no
/// NaN.
template <typename T> static std::string format(T value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
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

MetricsLog::MetricsLog(const std::string &path,
                       std::optional<int64_t> keepUntil)
    : path(path) {
  if (path.empty())
    return;
  if (auto obstacle = describeObstacle(path))
    throw failure(path, "cannot write the log: it is " + *obstacle,
                  "give the path of a file");
  if (!keepUntil || !std::filesystem::exists(path)) {
    records = RecordFile(path, "the log", O_CREAT | O_TRUNC);
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
  records = RecordFile(path, "the log", 0, static_cast<int64_t>(kept.size()));
}

void MetricsLog::write(const StepMetrics &metrics) {
  if (follower)
    follower->write(metrics);
  if (!records.isOpen())
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
  records.append(fmt::format("{{\"step\": {}, \"loss\": {}, \"lr\": {}, {}"
                             "\"step_ms\": {:.3f}, \"samples_per_s\": {:.1f}, "
                             "\"epoch\": {}, \"elapsed_s\": {:.3f}{}}}\n",
                             metrics.step, format(metrics.loss),
                             format(metrics.lr), norm, metrics.stepMs,
                             metrics.samplesPerSecond, metrics.epoch,
                             metrics.elapsed, more));
}

/// The rows of a table as arrays.
static std::string formatTable(const MetricTable &table) {
  auto columns = static_cast<size_t>(
      std::lround(std::sqrt(static_cast<double>(table.values.size()))));
  std::string text = "[";
  for (size_t i = 0; i < table.values.size(); ++i)
    text += fmt::format("{}{:.17g}",
                        i % columns ? ", "
                        : i         ? "], ["
                                    : "[",
                        table.values[i]);
  return text + "]]";
}

void MetricsLog::write(const EvalMetrics &metrics) {
  if (follower)
    follower->write(metrics);
  if (!records.isOpen())
    return;
  std::string line = fmt::format("{{\"step\": {}", metrics.step);
  for (const auto &[name, value] : metrics.values)
    line += fmt::format(", \"{}\": {}", name, format(value));
  for (const MetricTable &table : metrics.tables)
    line += fmt::format(", \"{}\": {}", table.name, formatTable(table));
  records.append(line + "}\n");
}

void MetricsLog::cutAfter(int64_t step) {
  if (follower)
    follower->cutAfter(step);
  if (!records.isOpen())
    return;
  std::string kept;
  try {
    MappedFile file(path);
    kept = selectUntil(file.getBytes().substr(0, records.getSize()), step);
    // Lines are in the order of their steps.
    if (!file.getBytes().starts_with(kept))
      return;
  } catch (const Error &error) {
    records.setProblem(error);
    return;
  }
  records.getPending() = selectUntil(records.getPending(), step);
  records.truncate(static_cast<int64_t>(kept.size()));
}
