// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/CpuQuota.h"

#include "runtime/abi/Align.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string_view>

using namespace ingot::runtime;
namespace fs = std::filesystem;

static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

/// The quota of one group. Version 2 has "QUOTA PERIOD" or "max PERIOD" in one
/// file, version 1 has two files, and -1 for no limit.
static int64_t readGroup(const fs::path &group) {
  int64_t quota = 0, period = 0;
  std::ifstream both(group / "cpu.max");
  if (!(both >> quota >> period)) {
    std::ifstream first(group / "cpu.cfs_quota_us");
    std::ifstream second(group / "cpu.cfs_period_us");
    if (!(first >> quota) || !(second >> period))
      return kNoLimit;
  }
  if (quota <= 0 || period <= 0)
    return kNoLimit;
  return ingot::abi::divideCeil(quota, period);
}

/// The least quota of a group and of those that it is part of.
static int64_t readGroups(const fs::path &root, std::string_view path) {
  int64_t least = readGroup(root);
  fs::path group = root;
  for (const fs::path &part : fs::path(path).relative_path()) {
    group /= part;
    least = std::min(least, readGroup(group));
  }
  return least;
}

int64_t ingot::runtime::readCpuQuota(const std::string &membership,
                                     const std::string &root) {
  int64_t least = kNoLimit;
  std::ifstream file(membership);
  // A line is NUMBER:CONTROLLERS:PATH, with no controllers in version 2.
  for (std::string line; std::getline(file, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    std::string_view text = line;
    std::string_view controllers = text.substr(first + 1, second - first - 1);
    std::string_view path = text.substr(second + 1);
    if (controllers.empty())
      least = std::min(least, readGroups(root, path));
    else if (controllers == "cpu" || controllers.starts_with("cpu,"))
      least = std::min(least, readGroups(fs::path(root) / "cpu", path));
  }
  return least;
}
