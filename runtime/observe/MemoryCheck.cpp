// SPDX-License-Identifier: Apache-2.0

#include "runtime/observe/MemoryCheck.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

using namespace ingot::runtime;

/// The value of every byte of the pattern.
static constexpr unsigned char kPoison = 0xff;

std::vector<MemoryCheck::Range>
MemoryCheck::findFree(const FunctionSpec &function, int64_t kernel,
                      bool outlives) const {
  std::vector<Range> used;
  for (const ArenaInterval &interval : function.intervals)
    if (interval.first <= kernel && kernel + outlives <= interval.last)
      used.push_back({interval.offset, interval.offset + interval.bytes});
  std::sort(used.begin(), used.end());
  std::vector<Range> free;
  int64_t end = 0;
  for (auto [first, last] : used) {
    if (first > end)
      free.push_back({end, first});
    end = std::max(end, last);
  }
  if (function.arenaBytes > end)
    free.push_back({end, function.arenaBytes});
  return free;
}

void MemoryCheck::start(const FunctionSpec &function) {
  // Before the first kernel only inputs are live.
  std::vector<Range> inputs;
  for (const InputSpec &input : function.inputs)
    inputs.push_back({input.offset, input.offset + input.getBytes()});
  std::sort(inputs.begin(), inputs.end());
  inputs.push_back({function.arenaBytes, function.arenaBytes});
  int64_t end = 0;
  for (auto [first, last] : inputs) {
    if (first > end)
      std::memset(arena + end, kPoison, first - end);
    end = std::max(end, last);
  }
}

void MemoryCheck::called(int32_t index, int64_t kernel) {
  if (kernel < 0 || problem)
    return;
  const FunctionSpec &function = manifest.functions[index];
  for (auto [first, last] : findFree(function, kernel, /*outlives=*/false)) {
    const char *begin = arena + first, *end = arena + last;
    const char *broken = std::find_if(begin, end, [](char c) {
      return static_cast<unsigned char>(c) != kPoison;
    });
    if (broken == end)
      continue;
    problem =
        fmt::format("kernel {}, {}, wrote to byte {} of the arena, "
                    "where no tensor is live",
                    kernel, function.kernels[kernel].name, broken - arena);
    return;
  }
  for (auto [first, last] : findFree(function, kernel, /*outlives=*/true))
    std::memset(arena + first, kPoison, last - first);
}
