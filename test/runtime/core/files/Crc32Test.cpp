// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/files/Crc32.h"

#include <gtest/gtest.h>
#include <random>
#include <string>
#include <zlib.h>

using namespace ingot::runtime;

static uint32_t computeByZlib(std::string_view bytes) {
  if (bytes.empty())
    return 0;
  return static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef *>(bytes.data()),
            static_cast<uInt>(bytes.size())));
}

static std::string getNoise(size_t size) {
  std::mt19937 random(1);
  std::string noise(size, '\0');
  for (char &byte : noise)
    byte = static_cast<char>(random());
  return noise;
}

TEST(Crc32, KnownValues) {
  EXPECT_EQ(computeCrc32(""), 0u);
  EXPECT_EQ(computeCrc32(std::string_view()), 0u);
  EXPECT_EQ(computeCrc32("123456789"), 0xcbf43926u);
  EXPECT_EQ(computeCrc32(std::string(1 << 20, '\0')), 0xa738ea1cu);
}

// The end of a file may be empty, and a view of nothing has no address.
TEST(Crc32, NothingChangesNothing) {
  for (const Crc32Build &build : getCrc32Builds())
    for (uint32_t crc : {0u, 1u, 0xcbf43926u, 0xffffffffu}) {
      EXPECT_EQ(build.compute(std::string_view(), crc), crc) << build.name;
      EXPECT_EQ(build.compute("", crc), crc) << build.name;
    }
}

TEST(Crc32, EqualsZlibAtEveryLengthAndOffset) {
  constexpr size_t longest = 1100, offsets = 64;
  std::string noise = getNoise(longest + offsets);
  std::vector<Crc32Build> builds = getCrc32Builds();
  for (size_t length = 0; length <= longest; ++length) {
    for (size_t offset = 0; offset < offsets; ++offset) {
      std::string_view bytes = std::string_view(noise).substr(offset, length);
      uint32_t expected = computeByZlib(bytes);
      for (const Crc32Build &build : builds)
        ASSERT_EQ(build.compute(bytes, 0), expected)
            << build.name << ", " << length << " bytes at " << offset;
    }
  }
}

TEST(Crc32, ContinuesAnywhere) {
  constexpr size_t longest = 1100;
  std::string noise = getNoise(longest);
  std::vector<Crc32Build> builds = getCrc32Builds();
  for (size_t length : {size_t(0), size_t(1), size_t(63), size_t(64),
                        size_t(256), size_t(600), longest}) {
    std::string_view bytes = std::string_view(noise).substr(0, length);
    uint32_t expected = computeByZlib(bytes);
    for (size_t split = 0; split <= length; ++split)
      for (const Crc32Build &build : builds)
        ASSERT_EQ(build.compute(bytes.substr(split),
                                build.compute(bytes.substr(0, split), 0)),
                  expected)
            << build.name << ", " << length << " bytes split at " << split;
  }
}

TEST(Crc32, EqualsZlibOnMuch) {
  std::string noise = getNoise((1 << 22) + 77);
  uint32_t expected = computeByZlib(noise);
  for (const Crc32Build &build : getCrc32Builds())
    EXPECT_EQ(build.compute(noise, 0), expected) << build.name;
}
