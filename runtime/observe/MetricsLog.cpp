// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The log of a run.
//
//===----------------------------------------------------------------------===//

#include "runtime/observe/MetricsLog.h"

#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/libraries/JsonLibrary.h"
#include "runtime/core/text/BoundedJson.h"

#include <cmath>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
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
    auto json = parseJson(line);
    bool isOurs = json.is_object() && json.contains("step") &&
                  json["step"].is_number_unsigned() &&
                  json["step"].get<uint64_t>() <= uint64_t(INT64_MAX);
    if (isOurs && json["step"].get<int64_t>() <= step)
      kept += line;
  }
  return kept;
}

/// Removes the lines of later steps from a file, whose old lines stay in it at
/// every moment: its end is cut off by what follows, or another one replaces
/// it. Returns the bytes that stay. Throws failure.
static int64_t keepLines(const std::string &path, int64_t until, bool cutsEnd,
                         Links links) {
  std::string kept;
  bool isStart;
  {
    MappedFile old(path);
    kept = selectUntil(old.getBytes(), until);
    isStart = old.getBytes().starts_with(kept) &&
              (cutsEnd || old.getBytes().size() == kept.size());
  }
  if (!isStart) {
    AtomicFile file(path, links);
    file.write(kept);
    file.commit();
  }
  return static_cast<int64_t>(kept.size());
}

MetricsLog::MetricsLog(const std::string &path,
                       std::optional<int64_t> keepUntil, int64_t mostBytes)
    : path(path), mostBytes(mostBytes) {
  if (path.empty())
    return;
  if (auto obstacle = describeObstacle(path))
    throw failure(path, "cannot write the log: it is " + *obstacle,
                  "give the path of a file");
  // From here on no other trainer writes it.
  records = RecordFile(path, "the log", O_CREAT);
  std::string before = getOldPath(path);
  std::error_code ignored;
  if (mostBytes != 0 && std::filesystem::is_regular_file(before, ignored)) {
    if (keepUntil)
      (void)keepLines(before, *keepUntil, /*cutsEnd=*/false, Links::Replace);
    else
      (void)unlink(before.c_str());
  }
  int64_t kept = 0;
  if (keepUntil)
    kept = keepLines(path, *keepUntil, /*cutsEnd=*/true, Links::Follow);
  if (!records.isCurrent())
    records = RecordFile(path, "the log", O_CREAT);
  records.truncate(kept);
  if (std::optional<Error> problem = records.getProblem())
    throw *problem;
}

void MetricsLog::append(const std::string &line) {
  records.append(line);
  if (mostBytes == 0 || records.getSize() < mostBytes)
    return;
  if (rename(path.c_str(), getOldPath(path).c_str()) != 0) {
    records.setProblem(failure(path, "cannot be renamed: " + describeErrno(),
                               "check the folder and its permissions"));
    return;
  }
  try {
    // Without a new file the lines go on in the one that was renamed.
    records = RecordFile(path, "the log", O_CREAT);
    records.truncate(0);
  } catch (const Error &error) {
    records.setProblem(error);
  }
}

void MetricsLog::write(const StepMetrics &metrics) {
  if (follower)
    follower->write(metrics);
  if (!records.isOpen())
    return;
  std::string norm;
  for (const auto &[name, value] : metrics.values)
    norm += fmt::format("\"{}\": {}, ", name, format(value));
  if (metrics.gradNorm)
    norm += fmt::format("\"grad_norm\": {}, ", format(*metrics.gradNorm));
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
  if (metrics.tokensPerSecond)
    more += fmt::format(", \"tokens_per_s\": {:.1f}", *metrics.tokensPerSecond);
  if (metrics.summary)
    more += ", \"stats\": " + metrics.summary->toJson();
  append(fmt::format("{{\"step\": {}, \"loss\": {}, \"lr\": {}, {}"
                     "\"step_ms\": {:.3f}, \"samples_per_s\": {:.1f}, "
                     "\"epoch\": {}, \"elapsed_s\": {:.3f}{}}}\n",
                     metrics.step, format(metrics.loss), format(metrics.lr),
                     norm, metrics.stepMs, metrics.samplesPerSecond,
                     metrics.epoch, metrics.elapsed, more));
}

/// The rows of a table as arrays.
void MetricsLog::writeClasses(int64_t step,
                              const std::vector<std::string> &classes) {
  if (!records.isOpen() || records.getSize() != 0 || classes.empty())
    return;
  nlohmann::ordered_json line = {{"step", step}, {"classes", classes}};
  append(line.dump() + "\n");
}

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
  append(line + "}\n");
}

void MetricsLog::cutAfter(int64_t step) {
  if (follower)
    follower->cutAfter(step);
  if (!records.isOpen())
    return;
  std::string kept, before = getOldPath(path);
  try {
    std::error_code ignored;
    if (mostBytes != 0 && std::filesystem::is_regular_file(before, ignored))
      (void)keepLines(before, step, /*cutsEnd=*/false, Links::Replace);
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
