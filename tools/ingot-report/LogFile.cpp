// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The log of a run as series.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/text/BoundedJson.h"
#include "tools/ingot-report/RunFiles.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <vector>

using namespace ingot;
using namespace ingot::runtime;
using nlohmann::ordered_json;

namespace {

/// The values of a metric over the steps.
struct Series {
  std::vector<double> steps, values;
  /// Whether it is of evaluations.
  bool isEvaluation = false;

  ordered_json toJson() const;
};

/// Adds up the lines of a log.
class LogReader {
public:
  void readLines(std::string_view text);
  ordered_json toJson() const;

  int64_t lines = 0, damaged = 0;

private:
  void readLine(const ordered_json &line);
  void add(const std::string &name, double step, const ordered_json &value,
           bool isEvaluation);

  std::vector<std::string> order;
  std::map<std::string, Series> series;
  ordered_json tables = ordered_json::object(), classes;
  int64_t notFinite = 0, lastStep = 0;
};

} // namespace

/// Six digits, which is more than a picture shows.
static double roundDigits(double value) {
  if (value == 0 || !std::isfinite(value))
    return value;
  double scale = std::pow(10, 5 - std::floor(std::log10(std::abs(value))));
  double rounded = std::round(value * scale) / scale;
  return std::isfinite(rounded) ? rounded : value;
}

ordered_json Series::toJson() const {
  // Of more points, each is the mean of several, with their range.
  constexpr size_t most = 1200;
  ordered_json x = ordered_json::array(), y = x, low = x, high = x;
  size_t width = (values.size() + most - 1) / most;
  for (size_t i = 0; i < values.size(); i += width) {
    size_t end = std::min(i + width, values.size());
    double sum = 0;
    for (size_t j = i; j < end; ++j)
      sum += values[j] / static_cast<double>(end - i);
    x.push_back(steps[end - 1]);
    y.push_back(roundDigits(sum));
    auto [least, greatest] =
        std::minmax_element(values.begin() + static_cast<ptrdiff_t>(i),
                            values.begin() + static_cast<ptrdiff_t>(end));
    low.push_back(roundDigits(*least));
    high.push_back(roundDigits(*greatest));
  }
  std::vector<double> sorted = values;
  auto middle = sorted.begin() + static_cast<ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  ordered_json json = {
      {"x", std::move(x)},
      {"y", std::move(y)},
      {"count", values.size()},
      {"median", *middle},
      {"least", *std::min_element(sorted.begin(), sorted.end())},
      {"greatest", *std::max_element(sorted.begin(), sorted.end())},
      {"last", values.back()}};
  if (isEvaluation)
    json["evaluation"] = true;
  if (width > 1) {
    json["low"] = std::move(low);
    json["high"] = std::move(high);
  }
  return json;
}

void LogReader::add(const std::string &name, double step,
                    const ordered_json &value, bool isEvaluation) {
  if (value.is_null()) {
    ++notFinite;
    return;
  }
  if (value.is_array()) {
    tables[name] = value;
    return;
  }
  if (value.is_boolean() && !value.get<bool>())
    return;
  if (!value.is_number() && !value.is_boolean())
    return;
  auto [found, isNew] = series.try_emplace(name);
  if (isNew) {
    order.push_back(name);
    found->second.isEvaluation = isEvaluation;
  }
  found->second.steps.push_back(step);
  found->second.values.push_back(value.is_boolean() ? 1 : value.get<double>());
}

void LogReader::readLine(const ordered_json &line) {
  auto step = line["step"].get<double>();
  lastStep = std::max(lastStep, line["step"].get<int64_t>());
  bool isEvaluation = !line.contains("step_ms");
  if (line.contains("classes")) {
    classes = line["classes"];
    return;
  }
  for (const auto &[name, value] : line.items())
    if (name == "stats" && value.is_object())
      for (const auto &[field, number] : value.items())
        add("stats." + field, step, number, false);
    else if (name != "step")
      add(name, step, value, isEvaluation);
}

void LogReader::readLines(std::string_view text) {
  while (!text.empty()) {
    // The last line may not be complete yet.
    size_t end = text.find('\n');
    if (end == std::string_view::npos)
      break;
    auto line = parseJson<ordered_json>(text.substr(0, end));
    text.remove_prefix(end + 1);
    if (line.is_object() && line.contains("step") &&
        line["step"].is_number_unsigned() &&
        line["step"].get<uint64_t>() <= uint64_t(INT64_MAX)) {
      ++lines;
      readLine(line);
    } else
      ++damaged;
  }
}

ordered_json LogReader::toJson() const {
  ordered_json json = {{"last_step", lastStep},
                       {"not_finite", notFinite},
                       {"damaged", damaged},
                       {"series", ordered_json::object()}};
  for (const std::string &name : order)
    json["series"][name] = series.at(name).toJson();
  if (classes.is_array())
    json["classes"] = classes;
  if (!tables.empty())
    json["tables"] = tables;
  return json;
}

/// Returns what the first lines of a configuration say of the run, and the
/// lines after them.
static void readConfiguration(const std::string &path, ordered_json &log) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    return;
  MappedFile file(path);
  std::string_view text = file.getBytes();
  constexpr std::string_view started = "# started ";
  for (bool isFirst = true; text.starts_with("# "); isFirst = false) {
    std::string_view line = text.substr(0, text.find('\n'));
    if (isFirst)
      log["header"] = line.substr(2);
    else if (line.starts_with(started))
      log["started"] = line.substr(started.size());
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  log["configuration"] = text;
  if (ordered_json saved = readCheckpoints(text, log["file"]); !saved.is_null())
    log["checkpoints"] = std::move(saved);
}

ordered_json ingot::readLog(const std::string &path) {
  LogReader reader;
  std::string before = path + ".1";
  std::error_code ignored;
  if (std::filesystem::is_regular_file(before, ignored))
    reader.readLines(MappedFile(before).getBytes());
  reader.readLines(MappedFile(path).getBytes());
  if (reader.lines == 0)
    throw badInput(path, "has no line of a step",
                   "give what --log of a trainer wrote");
  ordered_json log = reader.toJson();
  log["file"] = path;
  readConfiguration(path + ".toml", log);
  return log;
}
