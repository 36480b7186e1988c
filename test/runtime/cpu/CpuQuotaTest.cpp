// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The limits of control groups, in folders that look like theirs.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/CpuQuota.h"
#include "test/runtime/TestSupport.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

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
  int64_t read() { return readCpuQuota(folder / "member", folder / "groups"); }
};

TEST(CpuQuota, IsTheLeastOfAGroupAndThoseAround) {
  Groups groups;
  groups.write("member", "0::/outer/inner");
  groups.write("groups/cpu.max", "max 100000");
  EXPECT_EQ(groups.read(), kNoLimit);
  groups.write("groups/outer/cpu.max", "250000 100000");
  EXPECT_EQ(groups.read(), 3);
  groups.write("groups/outer/inner/cpu.max", "800000 100000");
  EXPECT_EQ(groups.read(), 3);
  groups.write("groups/outer/inner/cpu.max", "50000 100000");
  EXPECT_EQ(groups.read(), 1);
}

TEST(CpuQuota, IsThatOfTheFirstVersion) {
  Groups groups;
  groups.write("member", "3:cpu,cpuacct:/box\n2:memory:/box");
  groups.write("groups/cpu/box/cpu.cfs_quota_us", "-1");
  groups.write("groups/cpu/box/cpu.cfs_period_us", "100000");
  EXPECT_EQ(groups.read(), kNoLimit);
  groups.write("groups/cpu/box/cpu.cfs_quota_us", "200000");
  EXPECT_EQ(groups.read(), 2);
}

TEST(CpuQuota, NothingToReadIsNoLimit) {
  Groups groups;
  EXPECT_EQ(groups.read(), kNoLimit);
  groups.write("member", "no group");
  EXPECT_EQ(groups.read(), kNoLimit);
}

} // namespace
