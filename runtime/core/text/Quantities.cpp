// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/text/Quantities.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>

using namespace ingot::runtime;

std::string ingot::runtime::describeSeconds(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e9)
    return "";
  auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60)
    return fmt::format("{} s", whole);
  if (whole < 3600)
    return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02} h", whole / 3600, whole / 60 % 60);
}

std::string ingot::runtime::describeMeasured(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0)
    return "";
  if (seconds < 0.01)
    return fmt::format("{:.2g} ms", seconds * 1e3);
  if (seconds < 0.1)
    return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 60)
    return fmt::format("{:.1f} s", seconds);
  return describeSeconds(seconds);
}

std::string ingot::runtime::describeRate(double rate) {
  if (!std::isfinite(rate) || rate < 0)
    return "";
  // Up to five digits are read as easily as a unit.
  constexpr double thousands = 1e5, millions = 1e6;
  if (rate >= millions)
    return fmt::format("{:.3g}M", std::min(rate, 1e12) / 1e6);
  if (rate >= thousands)
    return fmt::format("{:.0f}k", rate / 1e3);
  return rate < 100 ? fmt::format("{:.3g}", rate) : fmt::format("{:.0f}", rate);
}

std::string ingot::runtime::describeBytes(int64_t bytes) {
  if (bytes < 1024)
    return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  for (const char *unit : {"KiB", "MiB", "GiB"}) {
    if (value < 1024)
      return fmt::format("{:.1f} {}", value, unit);
    value /= 1024;
  }
  return fmt::format("{:.1f} TiB", value);
}
