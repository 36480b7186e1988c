// SPDX-License-Identifier: Apache-2.0

// CPUs by name: code for them uses what trainers look for, and nothing else.

#include "runtime/abi/Processor.h"
#include "passes/targets/host/Object.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace ingot;

namespace {

HostProcessor find(llvm::StringRef name) {
  auto host = findProcessor(name);
  EXPECT_TRUE(bool(host)) << llvm::toString(host.takeError());
  return host ? *host : HostProcessor();
}

bool has(const std::vector<std::string> &names, llvm::StringRef name) {
  return llvm::is_contained(names, name);
}

TEST(Processor, LevelsHaveTheirFeatures) {
  for (size_t i = 0; i < std::size(ingot::abi::kCpuLevelNames) - 1; ++i) {
    auto level = static_cast<ingot::abi::CpuLevel>(i);
    HostProcessor host = find(ingot::abi::kCpuLevelNames[i]);
    for (const ingot::abi::CpuFeature &feature : ingot::abi::kCpuFeatures)
      EXPECT_EQ(has(host.features, feature.name), feature.level <= level)
          << host.cpu << " " << std::string(feature.name);
  }
}

TEST(Processor, DisablesWhatTrainersDoNotLookFor) {
  HostProcessor host = find("diamondrapids");
  EXPECT_TRUE(has(host.features, "amx-bf16"));
  // More registers (APX) would be an illegal instruction on CPUs before it.
  EXPECT_FALSE(has(host.features, "egpr"));
  EXPECT_TRUE(has(host.disabled, "egpr"));
  EXPECT_TRUE(has(host.disabled, "ndd"));
  for (const std::string &feature : host.features)
    EXPECT_TRUE(ingot::abi::findCpuFeature(feature)) << feature;
}

TEST(Processor, AArch64IsAnotherPlatform) {
  HostProcessor host = find("aarch64");
  EXPECT_TRUE(llvm::StringRef(host.triple).starts_with("aarch64"));
  EXPECT_EQ(host.features, std::vector<std::string>{"neon"});
  EXPECT_TRUE(llvm::StringRef(find("x86-64").triple).starts_with("x86_64"));
}

TEST(Processor, AArch64HasVersionsExtensionsAndCpus) {
  HostProcessor host = find("armv8.2-a+dotprod");
  EXPECT_TRUE(llvm::StringRef(host.triple).starts_with("aarch64"));
  EXPECT_TRUE(has(host.features, "lse"));
  EXPECT_TRUE(has(host.features, "dotprod"));
  EXPECT_FALSE(has(host.features, "fullfp16"));
  EXPECT_FALSE(has(find("armv8-a").features, "lse"));
  EXPECT_TRUE(has(find("aarch64+fp16").features, "fullfp16"));
  HostProcessor cpu = find("neoverse-n1");
  EXPECT_EQ(cpu.cpu, "neoverse-n1");
  EXPECT_TRUE(has(cpu.features, "fullfp16"));
  // SVE is not looked for, nor are vectors of its length generated.
  EXPECT_FALSE(has(find("neoverse-v1").features, "sve"));
  EXPECT_TRUE(has(find("neoverse-v1").disabled, "sve"));
  auto unknown = findProcessor("armv8.2-a+speed");
  ASSERT_FALSE(bool(unknown));
  EXPECT_EQ(llvm::toString(unknown.takeError()),
            "AArch64 has no extension 'speed'");
}

TEST(Processor, ListsKeepExtensions) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(splitProcessors("x86-64-v3+x86-64-v4"),
            (Names{"x86-64-v3", "x86-64-v4"}));
  EXPECT_EQ(splitProcessors("aarch64+armv8.2-a+dotprod+fp16+neoverse-n1"),
            (Names{"aarch64", "armv8.2-a+dotprod+fp16", "neoverse-n1"}));
  EXPECT_EQ(splitProcessors("x86-64-v3+"), (Names{"x86-64-v3", ""}));
}

TEST(Processor, UnknownNameIsAnError) {
  auto host = findProcessor("x86-64-v9");
  ASSERT_FALSE(bool(host));
  EXPECT_EQ(llvm::toString(host.takeError()), "no CPU is named 'x86-64-v9'");
}

/// INGOT_MAX_ISA for the duration of a scope.
struct MaxIsa {
  explicit MaxIsa(const char *level) {
    if (const char *old = std::getenv(ingot::abi::kMaxIsaVariable))
      before = old;
    setenv(ingot::abi::kMaxIsaVariable, level, 1);
  }
  ~MaxIsa() {
    if (before)
      setenv(ingot::abi::kMaxIsaVariable, before->c_str(), 1);
    else
      unsetenv(ingot::abi::kMaxIsaVariable);
  }
  std::optional<std::string> before;
};

TEST(Processor, MaxIsaLimitsNativeAlone) {
  MaxIsa limit("x86-64-v2");
  HostProcessor host = find("native");
  EXPECT_TRUE(has(host.features, "sse4.2"));
  EXPECT_FALSE(has(host.features, "avx"));
  EXPECT_FALSE(has(host.features, "avx2"));
  EXPECT_TRUE(has(find("x86-64-v3").features, "avx2"));
}

TEST(Processor, UnknownMaxIsaIsAnError) {
  MaxIsa limit("avx3");
  auto host = findProcessor("native");
  ASSERT_FALSE(bool(host));
  EXPECT_NE(llvm::toString(host.takeError()).find("avx3"), std::string::npos);
}

} // namespace
