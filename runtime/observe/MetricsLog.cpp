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
#include "runtime/core/text/JsonLine.h"

#include <cmath>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <string_view>

using namespace ingot::runtime;
using nlohmann::ordered_json;

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
  ordered_json line = {{"step", metrics.step},
                       {"loss", shortenFloat(metrics.loss)},
                       {"lr", metrics.lr}};
  for (const auto &[name, value] : metrics.values)
    line[name] = value;
  if (metrics.gradNorm)
    line["grad_norm"] = shortenFloat(*metrics.gradNorm);
  if (metrics.lossScale)
    line["loss_scale"] = shortenFloat(*metrics.lossScale);
  if (metrics.isGuarded)
    line["skipped"] = metrics.skipped;
  if (metrics.pruned)
    line["pruned"] = *metrics.pruned;
  line["step_ms"] = roundTo(metrics.stepMs, 3);
  line["samples_per_s"] = roundTo(metrics.samplesPerSecond, 1);
  line["epoch"] = metrics.epoch;
  line["elapsed_s"] = roundTo(metrics.elapsed, 3);
  if (metrics.data) {
    line["data_wait_ms"] = roundTo(metrics.data->waitMs, 3);
    line["decode_ms"] = roundTo(metrics.data->decodeMs, 3);
    line["queue"] = metrics.data->queue;
    if (metrics.data->padding)
      line["padding"] = roundTo(*metrics.data->padding, 4);
  }
  if (metrics.tokensPerSecond)
    line["tokens_per_s"] = roundTo(*metrics.tokensPerSecond, 1);
  if (metrics.summary)
    line["stats"] = ordered_json::parse(metrics.summary->toJson());
  append(formatJsonLine(line) + "\n");
}

void MetricsLog::writeClasses(int64_t step,
                              const std::vector<std::string> &classes) {
  if (!records.isOpen() || records.getSize() != 0 || classes.empty())
    return;
  append(formatJsonLine({{"step", step}, {"classes", classes}}) + "\n");
}

/// The rows of a table as arrays.
static ordered_json makeTable(const MetricTable &table) {
  auto columns = static_cast<size_t>(
      std::lround(std::sqrt(static_cast<double>(table.values.size()))));
  auto rows = ordered_json::array();
  for (size_t i = 0; i < table.values.size(); ++i) {
    if (i % columns == 0)
      rows.push_back(ordered_json::array());
    rows.back().push_back(table.values[i]);
  }
  return rows;
}

void MetricsLog::write(const EvalMetrics &metrics) {
  if (follower)
    follower->write(metrics);
  if (!records.isOpen())
    return;
  ordered_json line = {{"step", metrics.step}};
  for (const auto &[name, value] : metrics.values)
    line[name] = value;
  for (const MetricTable &table : metrics.tables)
    line[table.name] = makeTable(table);
  append(formatJsonLine(line) + "\n");
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
