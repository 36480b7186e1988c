// SPDX-License-Identifier: Apache-2.0

#include "runtime/observe/profile/ProfileSchedule.h"

#include <algorithm>
#include <charconv>
#include <vector>

using namespace ingot::runtime;

std::optional<ProfileSchedule> ProfileSchedule::parse(std::string_view text) {
  std::vector<int64_t> numbers;
  const char *at = text.data(), *end = text.data() + text.size();
  while (true) {
    int64_t number = 0;
    auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 0)
      return std::nullopt;
    numbers.push_back(number);
    if (stop == end)
      break;
    if (*stop != ':')
      return std::nullopt;
    at = stop + 1;
  }
  // Sums of three of them stay numbers.
  constexpr int64_t most = int64_t(1) << 40;
  bool isCount = std::all_of(numbers.begin(), numbers.end(),
                             [](int64_t number) { return number <= most; });
  if ((numbers.size() != 3 && numbers.size() != 4) || !isCount ||
      numbers[2] == 0 || numbers.back() == 0)
    return std::nullopt;
  ProfileSchedule schedule{numbers[0], numbers[1], numbers[2]};
  if (numbers.size() == 4)
    schedule.repeat = numbers[3];
  return schedule;
}

ProfileSchedule::Phase ProfileSchedule::getPhase(int64_t step) const {
  if (active) {
    int64_t cycle = wait + warmup + *active;
    if (step / cycle >= repeat)
      return Phase::Off;
    step %= cycle;
  }
  if (step < wait)
    return Phase::Off;
  return step < wait + warmup ? Phase::Warmup : Phase::Active;
}
