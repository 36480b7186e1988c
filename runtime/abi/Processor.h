// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The features of processors that compiled code may use, by LLVM's names; for
// x86-64 with the level that each belongs to and the bit of CPUID that says
// whether a processor has it. The compiler generates code for these features
// only, and the runtime finds each of them: whatever a newer compiler knows
// beyond the table stays unused until the table has it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_ABI_PROCESSOR_H
#define INGOT_RUNTIME_ABI_PROCESSOR_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot::abi {

/// The levels of the x86-64 psABI and, as the last one, everything beyond them.
enum class CpuLevel { Baseline, V2, V3, V4, Amx };

/// The names of the levels, in order.
inline constexpr std::string_view kCpuLevelNames[] = {
    "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "amx"};
/// The levels as a list for messages.
inline constexpr std::string_view kCpuLevelList =
    "x86-64, x86-64-v2, x86-64-v3, x86-64-v4 or amx";
/// The environment variable that hides features above a level.
inline constexpr const char *kMaxIsaVariable = "INGOT_MAX_ISA";

constexpr std::optional<CpuLevel> findCpuLevel(std::string_view name) {
  int index = 0;
  for (std::string_view known : kCpuLevelNames) {
    if (known == name)
      return static_cast<CpuLevel>(index);
    ++index;
  }
  return std::nullopt;
}

struct CpuFeature {
  enum Register : uint8_t { EAX, EBX, ECX, EDX };
  /// The bits of XCR0 that say which registers the operating system saves.
  enum SavedState : uint32_t {
    None = 0,
    YMM = 0x6,
    ZMM = 0xe6,
    Tile = 0x60000,
  };

  std::string_view name;
  CpuLevel level;
  uint32_t leaf, subleaf;
  Register place;
  int bit;
  SavedState needs;
};

inline constexpr CpuFeature kCpuFeatures[] = {
    {"sse3", CpuLevel::V2, 1, 0, CpuFeature::ECX, 0, CpuFeature::None},
    {"ssse3", CpuLevel::V2, 1, 0, CpuFeature::ECX, 9, CpuFeature::None},
    {"cx16", CpuLevel::V2, 1, 0, CpuFeature::ECX, 13, CpuFeature::None},
    {"sse4.1", CpuLevel::V2, 1, 0, CpuFeature::ECX, 19, CpuFeature::None},
    {"sse4.2", CpuLevel::V2, 1, 0, CpuFeature::ECX, 20, CpuFeature::None},
    {"crc32", CpuLevel::V2, 1, 0, CpuFeature::ECX, 20, CpuFeature::None},
    {"popcnt", CpuLevel::V2, 1, 0, CpuFeature::ECX, 23, CpuFeature::None},
    {"sahf", CpuLevel::V2, 0x80000001, 0, CpuFeature::ECX, 0, CpuFeature::None},
    {"fma", CpuLevel::V3, 1, 0, CpuFeature::ECX, 12, CpuFeature::YMM},
    {"movbe", CpuLevel::V3, 1, 0, CpuFeature::ECX, 22, CpuFeature::None},
    {"xsave", CpuLevel::V3, 1, 0, CpuFeature::ECX, 26, CpuFeature::None},
    {"avx", CpuLevel::V3, 1, 0, CpuFeature::ECX, 28, CpuFeature::YMM},
    {"f16c", CpuLevel::V3, 1, 0, CpuFeature::ECX, 29, CpuFeature::YMM},
    {"bmi", CpuLevel::V3, 7, 0, CpuFeature::EBX, 3, CpuFeature::None},
    {"avx2", CpuLevel::V3, 7, 0, CpuFeature::EBX, 5, CpuFeature::YMM},
    {"bmi2", CpuLevel::V3, 7, 0, CpuFeature::EBX, 8, CpuFeature::None},
    {"lzcnt", CpuLevel::V3, 0x80000001, 0, CpuFeature::ECX, 5,
     CpuFeature::None},
    {"avx512f", CpuLevel::V4, 7, 0, CpuFeature::EBX, 16, CpuFeature::ZMM},
    {"avx512dq", CpuLevel::V4, 7, 0, CpuFeature::EBX, 17, CpuFeature::ZMM},
    {"avx512cd", CpuLevel::V4, 7, 0, CpuFeature::EBX, 28, CpuFeature::ZMM},
    {"avx512bw", CpuLevel::V4, 7, 0, CpuFeature::EBX, 30, CpuFeature::ZMM},
    {"avx512vl", CpuLevel::V4, 7, 0, CpuFeature::EBX, 31, CpuFeature::ZMM},
    {"pclmul", CpuLevel::Amx, 1, 0, CpuFeature::ECX, 1, CpuFeature::None},
    {"aes", CpuLevel::Amx, 1, 0, CpuFeature::ECX, 25, CpuFeature::None},
    {"adx", CpuLevel::Amx, 7, 0, CpuFeature::EBX, 19, CpuFeature::None},
    {"prfchw", CpuLevel::Amx, 0x80000001, 0, CpuFeature::ECX, 8,
     CpuFeature::None},
    {"avx512ifma", CpuLevel::Amx, 7, 0, CpuFeature::EBX, 21, CpuFeature::ZMM},
    {"avx512vbmi", CpuLevel::Amx, 7, 0, CpuFeature::ECX, 1, CpuFeature::ZMM},
    {"avx512vbmi2", CpuLevel::Amx, 7, 0, CpuFeature::ECX, 6, CpuFeature::ZMM},
    {"gfni", CpuLevel::Amx, 7, 0, CpuFeature::ECX, 8, CpuFeature::None},
    {"vaes", CpuLevel::Amx, 7, 0, CpuFeature::ECX, 9, CpuFeature::YMM},
    {"vpclmulqdq", CpuLevel::Amx, 7, 0, CpuFeature::ECX, 10, CpuFeature::YMM},
    {"avx512vnni", CpuLevel::Amx, 7, 0, CpuFeature::ECX, 11, CpuFeature::ZMM},
    {"avx512bitalg", CpuLevel::Amx, 7, 0, CpuFeature::ECX, 12, CpuFeature::ZMM},
    {"avx512vpopcntdq", CpuLevel::Amx, 7, 0, CpuFeature::ECX, 14,
     CpuFeature::ZMM},
    {"amx-bf16", CpuLevel::Amx, 7, 0, CpuFeature::EDX, 22, CpuFeature::Tile},
    {"avx512fp16", CpuLevel::Amx, 7, 0, CpuFeature::EDX, 23, CpuFeature::ZMM},
    {"amx-tile", CpuLevel::Amx, 7, 0, CpuFeature::EDX, 24, CpuFeature::Tile},
    {"amx-int8", CpuLevel::Amx, 7, 0, CpuFeature::EDX, 25, CpuFeature::Tile},
    {"avxvnni", CpuLevel::Amx, 7, 1, CpuFeature::EAX, 4, CpuFeature::YMM},
    {"avx512bf16", CpuLevel::Amx, 7, 1, CpuFeature::EAX, 5, CpuFeature::ZMM},
    {"amx-fp16", CpuLevel::Amx, 7, 1, CpuFeature::EAX, 21, CpuFeature::Tile},
};

/// The feature that every AArch64 processor has.
inline constexpr std::string_view kAArch64Baseline = "neon";

/// The features of AArch64 processors that compiled code may use, with the bit
/// of the kernel's list, AT_HWCAP or AT_HWCAP2, that says whether a processor
/// has it. AArch64 has one level, Baseline.
struct AArch64Feature {
  std::string_view name;
  bool isInSecond;
  int bit;
};
inline constexpr AArch64Feature kAArch64Features[] = {
    {kAArch64Baseline, false, 1}, {"crc", false, 7},  {"lse", false, 8},
    {"fullfp16", false, 10},      {"rdm", false, 12}, {"dotprod", false, 20},
    {"fp16fml", false, 23},       {"i8mm", true, 13}, {"bf16", true, 14},
};

/// Returns the feature of AArch64 of that name; null if the table lacks it.
constexpr const AArch64Feature *findAArch64Feature(std::string_view name) {
  for (const AArch64Feature &feature : kAArch64Features)
    if (feature.name == name)
      return &feature;
  return nullptr;
}

/// Returns the feature of that name; null if the table lacks it.
constexpr const CpuFeature *findCpuFeature(std::string_view name) {
  for (const CpuFeature &feature : kCpuFeatures)
    if (feature.name == name)
      return &feature;
  return nullptr;
}

/// Returns the level that every processor with these features has at least.
template <typename Names> constexpr CpuLevel getLeastLevel(const Names &names) {
  CpuLevel level = CpuLevel::Baseline;
  for (CpuLevel next : {CpuLevel::V2, CpuLevel::V3, CpuLevel::V4}) {
    for (const CpuFeature &feature : kCpuFeatures) {
      bool isListed = feature.level != next;
      for (const auto &name : names)
        isListed |= feature.name == name;
      if (!isListed)
        return level;
    }
    level = next;
  }
  return level;
}

} // namespace ingot::abi

#endif // INGOT_RUNTIME_ABI_PROCESSOR_H
