// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/machine/ControlGroups.h"

#include "runtime/abi/Align.h"
#include "runtime/core/Error.h"
#include "runtime/core/machine/Processors.h"

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
static int64_t readQuota(const fs::path &group) {
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

/// The memory of one group. Version 2 has a number or "max", version 1 a number
/// that is beyond any memory for no limit.
static int64_t readMemory(const fs::path &group) {
  int64_t bytes = 0;
  for (const char *name : {"memory.max", "memory.limit_in_bytes"})
    if (std::ifstream file(group / name); file >> bytes && bytes > 0)
      return bytes;
  return kNoLimit;
}

using ReadGroup = int64_t (*)(const fs::path &group);

/// The least limit of a group and of those that it is part of.
static int64_t readGroups(const fs::path &root, std::string_view path,
                          ReadGroup readGroup) {
  int64_t least = readGroup(root);
  fs::path group = root;
  for (const fs::path &part : fs::path(path).relative_path()) {
    group /= part;
    least = std::min(least, readGroup(group));
  }
  return least;
}

/// Whether a list separated by commas has the name.
static bool isListed(std::string_view list, std::string_view name) {
  for (;;) {
    size_t comma = list.find(',');
    if (list.substr(0, comma) == name)
      return true;
    if (comma == std::string_view::npos)
      return false;
    list.remove_prefix(comma + 1);
  }
}

/// The least limit of all groups of a process.
static int64_t readLimit(const std::string &membership, const std::string &root,
                         std::string_view controller, ReadGroup readGroup) {
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
      least = std::min(least, readGroups(root, path, readGroup));
    else if (isListed(controllers, controller))
      least = std::min(
          least, readGroups(fs::path(root) / controller, path, readGroup));
  }
  return least;
}

int64_t ingot::runtime::readCpuQuota(const std::string &membership,
                                     const std::string &root) {
  return readLimit(membership, root, "cpu", readQuota);
}

int64_t ingot::runtime::readMemoryLimit(const std::string &membership,
                                        const std::string &root) {
  return readLimit(membership, root, "memory", readMemory);
}

int64_t ingot::runtime::countProcessors() {
  auto count = static_cast<int64_t>(getAllowedProcessors().size());
  return std::max<int64_t>(1, std::min(count, readCpuQuota()));
}

void ingot::runtime::checkMemoryLimit(int64_t bytes, int64_t limit) {
  if (bytes > limit)
    throw failure("memory",
                  "the training step takes " + std::to_string(bytes) +
                      " bytes, and this process's control group grants " +
                      std::to_string(limit),
                  "compile with a --memory-budget or a smaller --batch");
}
