// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Processor features: agree with what the kernel says, as far as INGOT_MAX_ISA
// lets them; the suite runs once at each level (CMakeLists.txt).
//
//===----------------------------------------------------------------------===//

#include "runtime/core/machine/Features.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

using namespace ingot::runtime;

namespace {

#ifdef __aarch64__
TEST(Features, AreThoseOfAnyAArch64) {
  EXPECT_TRUE(findMissingFeatures({"neon"}).empty());
  std::vector<std::string> others = {"avx2", "sve"};
  EXPECT_EQ(findMissingFeatures(others), others);
}
#else
TEST(Features, AgreeWithTheKernel) {
  std::set<std::string> flags;
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("flags")) {
      std::istringstream words(line);
      for (std::string word; words >> word;)
        flags.insert(word);
    }
  if (flags.empty())
    GTEST_SKIP() << "no flags in /proc/cpuinfo";
  for (auto [ours, theirs] :
       std::initializer_list<std::pair<const char *, const char *>>{
           {"sse3", "pni"},
           {"sse4.2", "sse4_2"},
           {"avx", "avx"},
           {"avx2", "avx2"},
           {"fma", "fma"},
           {"f16c", "f16c"},
           {"bmi2", "bmi2"},
           {"lzcnt", "abm"},
           {"avx512f", "avx512f"},
           {"avx512bw", "avx512bw"},
           {"avx512vnni", "avx512_vnni"},
           {"avx512bf16", "avx512_bf16"},
           {"avx512fp16", "avx512_fp16"},
           {"amx-tile", "amx_tile"},
           {"amx-bf16", "amx_bf16"}})
    EXPECT_EQ(findMissingFeatures({ours}).empty(),
              flags.count(theirs) == 1 &&
                  ingot::abi::findCpuFeature(ours)->level <= getMaxCpuLevel())
        << ours;
}
#endif

TEST(Features, UnknownNamesAreMissing) {
  std::vector<std::string> unknown = {"a-feature-of-the-future"};
  EXPECT_EQ(findMissingFeatures(unknown), unknown);
}

TEST(Features, LevelHasAllItsFeatures) {
  ingot::abi::CpuLevel level = getCpuLevel();
  EXPECT_LE(level, getMaxCpuLevel());
  for (const ingot::abi::CpuFeature &feature : ingot::abi::kCpuFeatures) {
    bool isMissing = !findMissingFeatures({std::string(feature.name)}).empty();
    if (feature.level <= level && feature.level < ingot::abi::CpuLevel::Amx)
      EXPECT_FALSE(isMissing) << feature.name;
    if (feature.level > getMaxCpuLevel())
      EXPECT_TRUE(isMissing) << feature.name;
  }
}

TEST(Features, MaxIsaIsRead) {
  const char *name = std::getenv(ingot::abi::kMaxIsaVariable);
  if (!name)
    GTEST_SKIP() << "INGOT_MAX_ISA is not set";
  EXPECT_EQ(ingot::abi::findCpuLevel(name), getMaxCpuLevel());
}

} // namespace
