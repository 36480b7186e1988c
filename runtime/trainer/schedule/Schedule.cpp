// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How the learning rate changes over a run. Where torch.optim.lr_scheduler has
// the schedule, the rates are its rates; those of inverse-sqrt after the
// warm-up are those of get_inverse_sqrt_schedule of Hugging Face Transformers.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/schedule/Schedule.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <limits>
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
    {"cosine-restarts", ":STEPS[:GROWTH]"},
    {"inverse-sqrt", "[:STEPS]"},
    {"plateau", "[:FACTOR[:PATIENCE]]"},
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
  // As other programs write them, too: Cosine, inverse_sqrt.
  std::string name(parts[0]);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return c == '_' ? '-' : static_cast<char>(std::tolower(c));
  });
  const Name *found =
      std::find_if(std::begin(kNames), std::end(kNames),
                   [&](const Name &known) { return name == known.name; });
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
  case ScheduleKind::CosineRestarts:
    if (!has(1))
      throw std::invalid_argument("'cosine-restarts' without the number of "
                                  "steps until the first restart");
    shape.period = parseNumber<int64_t>(parts[1], "an integer");
    if (has(2))
      shape.growth = parseNumber<int64_t>(parts[2], "an integer");
    break;
  case ScheduleKind::InverseSquareRoot:
    if (has(1))
      shape.timescale = parseNumber<int64_t>(parts[1], "an integer");
    break;
  case ScheduleKind::Plateau:
    if (has(1))
      shape.factor = parseNumber<double>(parts[1], "a number");
    if (shape.factor >= 1)
      throw std::invalid_argument(
          fmt::format("the factor '{}' is not below 1", parts[1]));
    // No patience at all is one of the values.
    if (has(2) && parts[2] == "0")
      shape.patience = 0;
    else if (has(2))
      shape.patience = parseNumber<int64_t>(parts[2], "an integer");
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
  case ScheduleKind::CosineRestarts:
    return fmt::format("{}:{}:{}", name, period, growth);
  case ScheduleKind::InverseSquareRoot:
    return timescale == 0 ? name : fmt::format("{}:{}", name, timescale);
  case ScheduleKind::Plateau:
    return fmt::format("{}:{}:{}", name, factor, patience);
  default:
    return name;
  }
}

bool ScheduleShape::followsLength() const {
  switch (kind) {
  case ScheduleKind::Constant:
  case ScheduleKind::Step:
  case ScheduleKind::CosineRestarts:
  case ScheduleKind::InverseSquareRoot:
  case ScheduleKind::Plateau:
    return false;
  default:
    return true;
  }
}

/// From `from` to `to` along half a cosine.
static double anneal(double from, double to, double progress) {
  return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * progress));
}

/// Returns the factor of torch's OneCycleLR: the highest rate is that of step
/// `up` + 1.
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

/// The part of its period that is behind the step.
double Schedule::getRestartProgress(int64_t done) const {
  int64_t period = shape.period;
  if (shape.growth == 1)
    done %= period;
  while (done >= period) {
    done -= period;
    if (period > std::numeric_limits<int64_t>::max() / shape.growth)
      break;
    period *= shape.growth;
  }
  return static_cast<double>(done) / static_cast<double>(period);
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
  case ScheduleKind::CosineRestarts:
    return least +
           (1 - least) / 2 *
               (1 + std::cos(std::numbers::pi * getRestartProgress(done)));
  case ScheduleKind::InverseSquareRoot: {
    double scale = static_cast<double>(shape.timescale > 0 ? shape.timescale
                                       : warmup > 0        ? warmup
                                                           : 10000);
    return std::max(std::sqrt(scale / (static_cast<double>(done) + scale)),
                    least);
  }
  default:
    return 1;
  }
}
