// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// CPU features by CPUID, and on AArch64 by what the kernel says.
// (__builtin_cpu_supports would need a part of libgcc that trainers are linked
// without.)
//
//===----------------------------------------------------------------------===//

#include "runtime/core/machine/Features.h"

#include "runtime/core/Error.h"

#include <array>
#include <cstdlib>

#ifdef __x86_64__
#include <cpuid.h>
#endif
#ifdef __aarch64__
#include <sys/auxv.h>
#endif

using namespace ingot::runtime;
using ingot::abi::CpuFeature;
using ingot::abi::CpuLevel;
using ingot::abi::kCpuFeatures;

#ifdef __x86_64__
static uint64_t getEnabledState() {
  uint32_t a, b, c, d;
  constexpr uint32_t osxsave = 1u << 27;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & osxsave))
    return 0;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

static bool hasX86(const CpuFeature &feature) {
  static const uint64_t enabled = getEnabledState();
  std::array<uint32_t, 4> r{};
  if (!__get_cpuid_count(feature.leaf, feature.subleaf, &r[CpuFeature::EAX],
                         &r[CpuFeature::EBX], &r[CpuFeature::ECX],
                         &r[CpuFeature::EDX]))
    return false;
  return (r[feature.place] >> feature.bit & 1) &&
         (enabled & feature.needs) == feature.needs;
}
#else
static bool hasX86(const CpuFeature &) { return false; }
#endif

/// Whether this CPU has the feature of that name, which may be unknown.
static bool isPresent(std::string_view name, CpuLevel most) {
#ifdef __aarch64__
  const ingot::abi::AArch64Feature *feature =
      ingot::abi::findAArch64Feature(name);
  return feature && (getauxval(feature->isInSecond ? AT_HWCAP2 : AT_HWCAP) >>
                         feature->bit &
                     1);
#else
  const CpuFeature *feature = ingot::abi::findCpuFeature(name);
  return feature && feature->level <= most && hasX86(*feature);
#endif
}

CpuLevel ingot::runtime::getMaxCpuLevel() {
  static const CpuLevel level = [] {
    const char *name = std::getenv(ingot::abi::kMaxIsaVariable);
    if (!name || !*name)
      return CpuLevel::Amx;
    if (auto found = ingot::abi::findCpuLevel(name))
      return *found;
    throw usageError(ingot::abi::kMaxIsaVariable,
                     std::string("no level is named '") + name + "'",
                     "set it to " + std::string(ingot::abi::kCpuLevelList) +
                         ", or unset it");
  }();
  return level;
}

std::vector<std::string>
ingot::runtime::findMissingFeatures(const std::vector<std::string> &features) {
  std::vector<std::string> missing;
  CpuLevel most = getMaxCpuLevel();
  for (const std::string &name : features)
    if (!isPresent(name, most))
      missing.push_back(name);
  return missing;
}

static CpuLevel findLevel() {
  auto hasLevel = [](CpuLevel level) {
    for (const CpuFeature &feature : kCpuFeatures)
      if (feature.level == level && !hasX86(feature))
        return false;
    return true;
  };
  CpuLevel most = getMaxCpuLevel(), level = CpuLevel::Baseline;
  for (CpuLevel next : {CpuLevel::V2, CpuLevel::V3, CpuLevel::V4}) {
    if (next > most || !hasLevel(next))
      return level;
    level = next;
  }
  bool hasTiles =
      findMissingFeatures({"amx-tile", "amx-bf16", "avx512bf16"}).empty();
  return hasTiles ? CpuLevel::Amx : level;
}

CpuLevel ingot::runtime::getCpuLevel() {
  static const CpuLevel level = findLevel();
  return level;
}
