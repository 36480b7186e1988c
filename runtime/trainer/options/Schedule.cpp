// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How the learning rate changes over a run. Where torch.optim.lr_scheduler has
// the schedule, the rates are its rates.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/options/Schedule.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <numbers>
#include <stdexcept>

using namespace ingot::runtime;

namespace {
struct Name {
  const char *name, *arguments;
};
} // namespace

/// In the order of ScheduleKind.
static constexpr Name kNames[] = {
    {"constant", ""},
    {"cosine", ""},
    {"linear", ""},
    {"polynomial", "[:POWER]"},
    {"step", ":N[,N...][:GAMMA]"},
    {"wsd", "[:DECAY%]"},
    {"one-cycle", "[:START[:END]]"},
};

std::string ingot::runtime::listSchedules() {
  std::string text;
  for (const Name &name : kNames)
    text += (text.empty()                    ? ""
             : &name == std::end(kNames) - 1 ? " or "
                                             : ", ") +
            std::string(name.name) + name.arguments;
  return text;
}

template <typename T>
static T parseNumber(std::string_view text, const char *what) {
  T value{};
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  bool isGood = error == std::errc() && stop == end && value > 0;
  if constexpr (std::is_floating_point_v<T>)
    isGood = isGood && std::isfinite(value);
  if (!isGood)
    throw std::invalid_argument(
        fmt::format("'{}' is not {} above 0", text, what));
  return value;
}

static std::vector<std::string_view> split(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find(mark, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

ScheduleShape ScheduleShape::parse(std::string_view text) {
  std::vector<std::string_view> parts = split(text, ':');
  const Name *found =
      std::find_if(std::begin(kNames), std::end(kNames),
                   [&](const Name &known) { return parts[0] == known.name; });
  if (found == std::end(kNames))
    throw std::invalid_argument(
        fmt::format("'{}' is not {}", text, listSchedules()));
  ScheduleShape shape;
  shape.kind = static_cast<ScheduleKind>(found - kNames);
  size_t most = 1;
  auto has = [&](size_t i) {
    most = i + 1;
    return parts.size() > i;
  };
  switch (shape.kind) {
  case ScheduleKind::Polynomial:
    if (has(1))
      shape.power = parseNumber<double>(parts[1], "a number");
    break;
  case ScheduleKind::Step:
    if (!has(1))
      throw std::invalid_argument("'step' without the number of steps after "
                                  "which the rate falls");
    for (std::string_view mark : split(parts[1], ','))
      shape.marks.push_back(parseNumber<int64_t>(mark, "an integer"));
    if (!std::is_sorted(shape.marks.begin(), shape.marks.end()))
      throw std::invalid_argument(
          fmt::format("the steps '{}' do not grow", parts[1]));
    if (has(2))
      shape.gamma = parseNumber<double>(parts[2], "a number");
    break;
  case ScheduleKind::Wsd:
    if (has(1)) {
      if (!parts[1].ends_with("%"))
        throw std::invalid_argument(
            fmt::format("'{}' is not a percentage", parts[1]));
      parts[1].remove_suffix(1);
      shape.decay = parseNumber<double>(parts[1], "a percentage") / 100;
      if (shape.decay > 1)
        throw std::invalid_argument("more than 100% of the run");
    }
    break;
  case ScheduleKind::OneCycle:
    if (has(1))
      shape.start = parseNumber<double>(parts[1], "a number");
    if (has(2))
      shape.end = parseNumber<double>(parts[2], "a number");
    break;
  default:
    break;
  }
  if (parts.size() > most)
    throw std::invalid_argument(
        fmt::format("'{}' is not {}{}", text, found->name, found->arguments));
  return shape;
}

std::string ScheduleShape::str() const {
  std::string name = kNames[static_cast<int>(kind)].name;
  switch (kind) {
  case ScheduleKind::Polynomial:
    return fmt::format("{}:{}", name, power);
  case ScheduleKind::Step:
    return fmt::format("{}:{}:{}", name, fmt::join(marks, ","), gamma);
  case ScheduleKind::Wsd:
    return fmt::format("{}:{}%", name, decay * 100);
  case ScheduleKind::OneCycle:
    return fmt::format("{}:{}:{}", name, start, end);
  default:
    return name;
  }
}

/// From `from` to `to` along half a cosine.
static double anneal(double from, double to, double progress) {
  return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * progress));
}

/// As torch's OneCycleLR counts: the highest rate is that of step `up` + 1.
double Schedule::getOneCycleFactor(int64_t step) const {
  constexpr double upPart = 0.3;
  auto steps = static_cast<double>(std::max<int64_t>(total, 2));
  double up = (warmup > 0 ? static_cast<double>(warmup) : upPart * steps) - 1;
  auto now = static_cast<double>(std::min(step, total) - 1);
  double start = 1 / shape.start;
  if (now <= up && up > 0)
    return anneal(start, 1, now / up);
  double end = least > 0 ? least : start / shape.end;
  return anneal(1, end, (now - up) / std::max(steps - 1 - up, 1.0));
}

double Schedule::getFactor(int64_t step) const {
  if (shape.kind == ScheduleKind::OneCycle)
    return getOneCycleFactor(step);
  if (step <= warmup)
    return static_cast<double>(step) / static_cast<double>(warmup);
  double length = static_cast<double>(std::max<int64_t>(total - warmup, 1));
  int64_t done = step - 1 - warmup;
  double progress = std::min(static_cast<double>(done) / length, 1.0);
  auto fallTo = [&](double part) { return least + (1 - least) * part; };
  switch (shape.kind) {
  case ScheduleKind::Cosine:
    return fallTo(0.5 * (1 + std::cos(std::numbers::pi * progress)));
  case ScheduleKind::Linear:
    return fallTo(1 - progress);
  case ScheduleKind::Polynomial:
    return fallTo(std::pow(1 - progress, shape.power));
  case ScheduleKind::Step: {
    const std::vector<int64_t> &marks = shape.marks;
    int64_t falls = marks.size() == 1
                        ? done / marks[0]
                        : std::upper_bound(marks.begin(), marks.end(), done) -
                              marks.begin();
    return std::max(std::pow(shape.gamma, static_cast<double>(falls)), least);
  }
  case ScheduleKind::Wsd: {
    double decaying = std::max(shape.decay * static_cast<double>(total), 1.0);
    double left = static_cast<double>(total - step + 1);
    return fallTo(std::clamp(left / decaying, 0.0, 1.0));
  }
  default:
    return 1;
  }
}
