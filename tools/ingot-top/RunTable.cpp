// SPDX-License-Identifier: Apache-2.0

#include "tools/ingot-top/RunTable.h"

#include "runtime/core/Text.h"
#include "runtime/core/text/Quantities.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace ingot;
using nlohmann::json;

namespace {
struct Column {
  const char *title;
  /// Whether the column is left out first where there is little room.
  int priority;
  std::vector<std::string> cells = {};
};
} // namespace

/// Characters on a terminal, of text without combining ones.
static size_t countCharacters(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

static std::string getField(const json &object, const char *name,
                            const char *format, double scale = 1) {
  if (!object.is_object())
    return "";
  auto found = object.find(name);
  if (found == object.end() || !found->is_number())
    return "";
  return fmt::format(fmt::runtime(format), found->get<double>() * scale);
}

/// The losses of the last steps as a row of bars.
static std::string drawLosses(const RunLog &run) {
  static constexpr const char *bars[] = {"▁", "▂", "▃", "▄",
                                         "▅", "▆", "▇", "█"};
  constexpr size_t most = 16;
  std::vector<double> losses;
  for (const RunLog::Step &step : run.getRecent())
    if (std::isfinite(step.loss))
      losses.push_back(step.loss);
  if (losses.size() < 2)
    return "";
  size_t count = std::min(losses.size(), most);
  std::vector<double> means;
  for (size_t i = 0; i < count; ++i) {
    size_t begin = i * losses.size() / count,
           end = (i + 1) * losses.size() / count;
    double sum = 0;
    for (size_t j = begin; j < end; ++j)
      sum += losses[j];
    means.push_back(sum / static_cast<double>(end - begin));
  }
  auto [least, greatest] = std::minmax_element(means.begin(), means.end());
  std::string text;
  for (double mean : means) {
    // Not a number where all are the same, or infinitely far apart.
    double part = (mean - *least) / (*greatest - *least);
    text += bars[part > 0 ? static_cast<size_t>(std::min(part * 8, 7.0)) : 0];
  }
  return text;
}

/// The seconds that a step takes, with all that comes between steps.
static double getPace(const RunLog &run) {
  const auto &recent = run.getRecent();
  if (recent.size() < 2)
    return std::nan("");
  auto steps =
      static_cast<double>(recent.back().number - recent.front().number);
  return (recent.back().elapsed - recent.front().elapsed) / steps;
}

static std::string describeState(const RunLog &run) {
  const auto &recent = run.getRecent();
  if (recent.empty())
    return "starts";
  int64_t step = recent.back().number;
  if (run.getTotalSteps() && step >= *run.getTotalSteps())
    return "done";
  // Evaluations and checkpoints come between steps.
  double pace = getPace(run), age = run.getAge();
  constexpr double patience = 10;
  if (age > std::max(patience, std::isfinite(pace) ? 20 * pace : 0))
    return "silent " + runtime::describeSeconds(age);
  return "runs";
}

static double getPercentile(const RunLog &run, double part) {
  std::vector<double> times;
  for (const RunLog::Step &step : run.getRecent())
    if (std::isfinite(step.milliseconds))
      times.push_back(step.milliseconds);
  if (times.empty())
    return std::nan("");
  std::sort(times.begin(), times.end());
  auto rank =
      static_cast<size_t>(std::ceil(part * static_cast<double>(times.size())));
  return times[std::clamp<size_t>(rank, 1, times.size()) - 1];
}

static std::vector<std::string> describe(const std::string &name,
                                         const RunLog &run) {
  auto number = [](double value, const char *format) {
    return std::isfinite(value) ? fmt::format(fmt::runtime(format), value)
                                : std::string();
  };
  const auto &recent = run.getRecent();
  std::string step =
      recent.empty() ? "0" : std::to_string(recent.back().number);
  std::string left;
  if (run.getTotalSteps()) {
    step += "/" + std::to_string(*run.getTotalSteps());
    if (!recent.empty())
      left = runtime::describeSeconds(
          getPace(run) * static_cast<double>(std::max<int64_t>(
                             0, *run.getTotalSteps() - recent.back().number)));
  }
  const json &statistics = run.getStatistics(),
             &evaluation = run.getEvaluation();
  std::string evaluated =
      getField(evaluation, "eval_accuracy", "{:.2f} %", 100);
  if (evaluated.empty())
    evaluated = getField(evaluation, "eval_loss", "{:.4g}");
  return {runtime::makePrintable(name),
          describeState(run),
          step,
          recent.empty() ? "" : number(recent.back().loss, "{:.4g}"),
          getField(run.getLast(), "train_accuracy", "{:.2f} %", 100),
          drawLosses(run),
          evaluated,
          getField(run.getLast(), "lr", "{:.3g}"),
          getField(run.getLast(), "samples_per_s", "{:.0f}"),
          number(getPercentile(run, 0.5), "{:.2f}"),
          number(getPercentile(run, 0.99), "{:.2f}"),
          getField(statistics, "data_share", "{:.0f} %", 100),
          getField(statistics, "roofline_share", "{:.0f} %", 100),
          getField(statistics, "resident_bytes", "{:.0f}", 1.0 / (1 << 20)),
          left};
}

std::vector<std::string> ingot::makeTable(const std::vector<NamedRun> &runs,
                                          size_t width, bool color) {
  std::vector<Column> columns = {
      {"run", 0},       {"state", 0},  {"step", 0},   {"loss", 0},
      {"train", 2},     {"", 5},       {"eval", 1},   {"lr", 6},
      {"samples/s", 1}, {"P50 ms", 2}, {"P99 ms", 4}, {"data", 2},
      {"of best", 5},   {"MiB", 3},    {"left", 0}};
  for (const auto &[name, run] : runs) {
    std::vector<std::string> cells = describe(name, *run);
    for (size_t i = 0; i < columns.size(); ++i)
      columns[i].cells.push_back(std::move(cells[i]));
  }
  auto isEmpty = [](const Column &column) {
    return std::all_of(column.cells.begin(), column.cells.end(),
                       [](const std::string &cell) { return cell.empty(); });
  };
  std::erase_if(columns, isEmpty);
  auto getWidth = [](const Column &column) {
    size_t most = countCharacters(column.title);
    for (const std::string &cell : column.cells)
      most = std::max(most, countCharacters(cell));
    return most;
  };
  auto getTotal = [&] {
    size_t total = 0;
    for (const Column &column : columns)
      total += getWidth(column) + 2;
    return total - 2;
  };
  // What matters least is left out until the rest has room.
  while (width && !columns.empty() && getTotal() > width) {
    auto least =
        std::max_element(columns.begin(), columns.end(), [](auto &a, auto &b) {
          return a.priority < b.priority;
        });
    if (least->priority == 0)
      break;
    columns.erase(least);
  }
  std::vector<std::string> lines(runs.size() + 1);
  for (size_t row = 0; row < lines.size(); ++row) {
    for (size_t i = 0; i < columns.size(); ++i) {
      const Column &column = columns[i];
      std::string_view cell =
          row ? std::string_view(column.cells[row - 1]) : column.title;
      std::string space(getWidth(column) - countCharacters(cell), ' ');
      bool isText = i == 0 || std::string_view(column.title) == "state";
      lines[row] += (i ? "  " : "") +
                    (isText ? cell.data() + space : space + std::string(cell));
    }
    while (lines[row].ends_with(' '))
      lines[row].pop_back();
    if (width && countCharacters(lines[row]) > width) {
      size_t end = 0;
      for (size_t seen = 0; end < lines[row].size(); ++end)
        if ((lines[row][end] & 0xC0) != 0x80 && seen++ == width)
          break;
      lines[row].resize(end);
    }
    if (color && row == 0)
      lines[row] = "\033[1m" + lines[row] + "\033[m";
  }
  return lines;
}
