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

static Error cannotWrite(const std::string &path) {
  return failure(path, "cannot write the log: " + describeErrno(),
                 "check the path, its permissions and the free space");
}

/// Reads the lines of an existing log for steps up to `step`.
static std::string readUntil(const std::string &path, int64_t step) {
  if (!std::filesystem::is_regular_file(path))
    return "";
  MappedFile file(path);
  std::string kept;
  for (std::string_view rest = file.getBytes(); !rest.empty();) {
    size_t end = rest.find('\n');
    if (end == std::string_view::npos)
      break;
    std::string_view line = rest.substr(0, end + 1);
    rest.remove_prefix(end + 1);
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
  std::string kept = keepUntil ? readUntil(path, *keepUntil) : "";
  file = std::fopen(path.c_str(), "w");
  if (!file)
    throw cannotWrite(path);
  if (!kept.empty())
    writeLine(kept);
}

MetricsLog::~MetricsLog() {
  if (file)
    std::fclose(file);
}

void MetricsLog::writeLine(const std::string &line) {
  if (std::fwrite(line.data(), 1, line.size(), file) != line.size() ||
      std::fflush(file) != 0)
    throw cannotWrite(path);
}

void MetricsLog::write(const StepMetrics &metrics) {
  if (!file)
    return;
  std::string norm;
  if (metrics.gradNorm)
    norm = fmt::format("\"grad_norm\": {}, ", format(*metrics.gradNorm));
  if (metrics.lossScale)
    norm += fmt::format("\"loss_scale\": {}, \"skipped\": {}, ",
                        format(*metrics.lossScale), metrics.skipped);
  writeLine(fmt::format("{{\"step\": {}, \"loss\": {}, \"lr\": {}, {}"
                        "\"step_ms\": {:.3f}, \"samples_per_s\": {:.1f}}}\n",
                        metrics.step, format(metrics.loss), format(metrics.lr),
                        norm, metrics.stepMs, metrics.samplesPerSecond));
}

void MetricsLog::write(const EvalMetrics &metrics) {
  if (!file)
    return;
  std::string accuracy;
  if (metrics.accuracy)
    accuracy =
        fmt::format(", \"eval_accuracy\": {}", format(*metrics.accuracy));
  writeLine(fmt::format("{{\"step\": {}, \"eval_loss\": {}{}}}\n", metrics.step,
                        format(metrics.loss), accuracy));
}
