// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// CPU features by CPUID. (__builtin_cpu_supports would need a part of libgcc
// that trainers are linked without.)
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/Features.h"

#include <array>
#include <cpuid.h>
#include <cstdint>
#include <string_view>

using namespace ingot::runtime;

namespace {

enum Register { EAX, EBX, ECX, EDX };

/// The bits of XCR0 that say which registers the operating system saves.
enum SavedState : uint64_t {
  None = 0,
  YMM = 0x6,
  ZMM = 0xe6,
  Tile = 0x60000,
};

struct FeatureBit {
  std::string_view name;
  uint32_t leaf, subleaf;
  Register place;
  int bit;
  SavedState needs;
};

constexpr FeatureBit kFeatureBits[] = {
    {"sse3", 1, 0, ECX, 0, None},
    {"pclmul", 1, 0, ECX, 1, None},
    {"ssse3", 1, 0, ECX, 9, None},
    {"fma", 1, 0, ECX, 12, YMM},
    {"cx16", 1, 0, ECX, 13, None},
    {"sse4.1", 1, 0, ECX, 19, None},
    {"sse4.2", 1, 0, ECX, 20, None},
    {"movbe", 1, 0, ECX, 22, None},
    {"popcnt", 1, 0, ECX, 23, None},
    {"aes", 1, 0, ECX, 25, None},
    {"avx", 1, 0, ECX, 28, YMM},
    {"f16c", 1, 0, ECX, 29, YMM},
    {"bmi", 7, 0, EBX, 3, None},
    {"avx2", 7, 0, EBX, 5, YMM},
    {"bmi2", 7, 0, EBX, 8, None},
    {"avx512f", 7, 0, EBX, 16, ZMM},
    {"avx512dq", 7, 0, EBX, 17, ZMM},
    {"adx", 7, 0, EBX, 19, None},
    {"avx512ifma", 7, 0, EBX, 21, ZMM},
    {"avx512cd", 7, 0, EBX, 28, ZMM},
    {"avx512bw", 7, 0, EBX, 30, ZMM},
    {"avx512vl", 7, 0, EBX, 31, ZMM},
    {"avx512vbmi", 7, 0, ECX, 1, ZMM},
    {"avx512vbmi2", 7, 0, ECX, 6, ZMM},
    {"gfni", 7, 0, ECX, 8, None},
    {"vaes", 7, 0, ECX, 9, YMM},
    {"vpclmulqdq", 7, 0, ECX, 10, YMM},
    {"avx512vnni", 7, 0, ECX, 11, ZMM},
    {"avx512bitalg", 7, 0, ECX, 12, ZMM},
    {"avx512vpopcntdq", 7, 0, ECX, 14, ZMM},
    {"amx-bf16", 7, 0, EDX, 22, Tile},
    {"avx512fp16", 7, 0, EDX, 23, ZMM},
    {"amx-tile", 7, 0, EDX, 24, Tile},
    {"amx-int8", 7, 0, EDX, 25, Tile},
    {"avxvnni", 7, 1, EAX, 4, YMM},
    {"avx512bf16", 7, 1, EAX, 5, ZMM},
    {"amx-fp16", 7, 1, EAX, 21, Tile},
    {"lzcnt", 0x80000001, 0, ECX, 5, None},
};

uint64_t getEnabledState() {
  uint32_t a, b, c, d;
  constexpr uint32_t osxsave = 1u << 27;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & osxsave))
    return 0;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

bool isPresent(const FeatureBit &feature, uint64_t enabled) {
  std::array<uint32_t, 4> r{};
  if (!__get_cpuid_count(feature.leaf, feature.subleaf, &r[EAX], &r[EBX],
                         &r[ECX], &r[EDX]))
    return false;
  return (r[feature.place] >> feature.bit & 1) &&
         (enabled & feature.needs) == feature.needs;
}

} // namespace

std::vector<std::string>
ingot::runtime::findMissingFeatures(const std::vector<std::string> &features) {
  std::vector<std::string> missing;
  uint64_t enabled = getEnabledState();
  for (const std::string &name : features)
    for (const FeatureBit &feature : kFeatureBits)
      if (feature.name == name && !isPresent(feature, enabled))
        missing.push_back(name);
  return missing;
}
