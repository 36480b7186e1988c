// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The limits of control groups, in folders that look like theirs.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/machine/ControlGroups.h"

#include "runtime/core/Error.h"
#include "test/runtime/TestSupport.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sched.h>

using namespace ingot::runtime;
using ingot::runtime::test::TemporaryFolder;

namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

struct Groups {
  TemporaryFolder folder;

  void write(const std::string &path, const std::string &text) {
    std::filesystem::path file = folder / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  int64_t readQuota() {
    return readCpuQuota(folder / "member", folder / "groups");
  }
  int64_t readMemory() {
    return readMemoryLimit(folder / "member", folder / "groups");
  }
};

TEST(ControlGroups, QuotaIsTheLeastOfAGroupAndThoseAround) {
  Groups groups;
  groups.write("member", "0::/outer/inner");
  groups.write("groups/cpu.max", "max 100000");
  EXPECT_EQ(groups.readQuota(), kNoLimit);
  groups.write("groups/outer/cpu.max", "250000 100000");
  EXPECT_EQ(groups.readQuota(), 3);
  groups.write("groups/outer/inner/cpu.max", "800000 100000");
  EXPECT_EQ(groups.readQuota(), 3);
  groups.write("groups/outer/inner/cpu.max", "50000 100000");
  EXPECT_EQ(groups.readQuota(), 1);
}

TEST(ControlGroups, QuotaOfTheFirstVersion) {
  Groups groups;
  groups.write("member", "3:cpuacct,cpu:/box\n2:memory:/box");
  groups.write("groups/cpu/box/cpu.cfs_quota_us", "-1");
  groups.write("groups/cpu/box/cpu.cfs_period_us", "100000");
  EXPECT_EQ(groups.readQuota(), kNoLimit);
  groups.write("groups/cpu/box/cpu.cfs_quota_us", "200000");
  EXPECT_EQ(groups.readQuota(), 2);
}

TEST(ControlGroups, MemoryIsTheLeastOfAGroupAndThoseAround) {
  Groups groups;
  groups.write("member", "0::/outer/inner");
  groups.write("groups/outer/memory.max", "max");
  EXPECT_EQ(groups.readMemory(), kNoLimit);
  groups.write("groups/outer/memory.max", "8589934592");
  EXPECT_EQ(groups.readMemory(), 8589934592);
  groups.write("groups/outer/inner/memory.max", "1048576");
  EXPECT_EQ(groups.readMemory(), 1048576);
}

TEST(ControlGroups, MemoryOfTheFirstVersion) {
  Groups groups;
  groups.write("member", "3:cpu,cpuacct:/box\n2:memory:/box");
  groups.write("groups/memory/memory.limit_in_bytes", "9223372036854771712");
  groups.write("groups/memory/box/memory.limit_in_bytes", "4096");
  EXPECT_EQ(groups.readMemory(), 4096);
}

TEST(ControlGroups, NothingToReadIsNoLimit) {
  Groups groups;
  EXPECT_EQ(groups.readQuota(), kNoLimit);
  groups.write("member", "no group");
  EXPECT_EQ(groups.readQuota(), kNoLimit);
  EXPECT_EQ(groups.readMemory(), kNoLimit);
}

TEST(ControlGroups, ProcessorsAreThoseOfTheAffinityMask) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof(mask), &mask), 0);
  EXPECT_GE(countProcessors(), 1);
  EXPECT_LE(countProcessors(), CPU_COUNT(&mask));
}

TEST(ControlGroupsDeathTest, TheMaskOfTheStartCounts) {
  // The mask is read once, in another process here: threads bind themselves.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto bindAndCount = [] {
    cpu_set_t before, one;
    sched_getaffinity(0, sizeof(before), &before);
    int first = 0;
    while (!CPU_ISSET(first, &before))
      ++first;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    sched_setaffinity(0, sizeof(one), &one);
    int64_t bound = countProcessors();
    sched_setaffinity(0, sizeof(before), &before);
    std::exit(bound == 1 && countProcessors() == 1 ? 0 : 1);
  };
  EXPECT_EXIT(bindAndCount(), testing::ExitedWithCode(0), "");
}

TEST(ControlGroups, MoreMemoryThanGrantedIsAnError) {
  EXPECT_NO_THROW(checkMemoryLimit(4096, 4096));
  EXPECT_NO_THROW(checkMemoryLimit(1 << 30, kNoLimit));
  try {
    checkMemoryLimit(4097, 4096);
    FAIL() << "accepted";
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("grants 4096"), std::string::npos);
  }
}

} // namespace
