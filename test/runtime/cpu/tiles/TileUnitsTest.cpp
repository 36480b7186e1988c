// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The kernels for tile units, on the units in software of TileEmulator.h.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/vectors/TileUnits.h"
#include "runtime/abi/Abi.h"
#include "runtime/core/Random.h"
#include "runtime/cpu/direct/kernels/DirectKernels.h"
#include "runtime/cpu/vectors/HalfPrecision.h"
#include "test/runtime/cpu/tiles/TileEmulator.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

using namespace ingot::runtime;
using namespace ingot::runtime::tests;

namespace {

/// Pairs in bf16 of small integers, whose sums are exact in any order, and the
/// integers. Around them are NaNs.
struct Pairs {
  Pairs(Philox &random, int64_t count) : wide(2 * count) {
    constexpr float nothing = std::numeric_limits<float>::quiet_NaN();
    packed.assign(count + 2 * kMargin, nothing);
    for (float &value : wide)
      value = static_cast<float>(random.below(17)) - 8;
    roundFromF32(wide.data(), packed.data() + kMargin, INGOT_BF16, 2 * count);
  }
  const float *getData() const { return packed.data() + kMargin; }

  static constexpr int64_t kMargin = 64;
  std::vector<float> wide, packed;
};

/// Every number of rows and of vectors; segments that registers do not divide,
/// columns that do not fill the last vector, and distances that are more than
/// what is read. No other element of the result is written.
void checkTiles(bool byColumns) {
  constexpr int64_t lanes = 16, kept = -12345;
  Philox random(3, byColumns);
  const direct::Kernels &kernels = direct::tileKernels;
  for (int64_t vectors : {1, 2, 4})
    for (int64_t rows = 1; rows <= kernels.mostRows[vectors]; ++rows)
      for (int64_t variant = 0; variant < 4; ++variant) {
        int64_t length = 1 + random.below(40), segments = 1 + random.below(3);
        int64_t columns =
            vectors * lanes - (variant < 2 ? 0 : random.below(lanes));
        int64_t aStep = (byColumns ? rows : length) + random.below(5);
        int64_t bStep = vectors * lanes + (byColumns ? random.below(9) : 0);
        int64_t cStep = columns + random.below(7);
        // Segments are apart, or one after the other.
        int64_t bSegment = length * bStep + 3 * random.below(2);
        bool adds = variant % 2, isRounded = !byColumns && variant == 2;
        Pairs a(random, segments * (byColumns ? length : rows) * aStep);
        Pairs b(random, segments * bSegment);
        std::vector<const float *> lefts, rights;
        for (int64_t s = 0; s < segments; ++s) {
          lefts.push_back(a.getData() +
                          s * (byColumns ? length : rows) * aStep - 1);
          rights.push_back(b.getData() + s * bSegment - 2);
        }
        std::vector<float> c(rows * cStep, kept), sums = c;
        std::vector<uint16_t> rounded(rows * cStep);
        direct::Tile tile = {};
        tile.segments = segments;
        tile.length = length;
        tile.a = lefts.data();
        tile.b = rights.data();
        tile.aOffset = 1;
        tile.bOffset = 2;
        tile.aStep = aStep;
        tile.bStep = bStep;
        tile.cStep = cStep;
        tile.columns = columns;
        tile.rows = rows;
        tile.vectors = vectors;
        tile.adds = adds;
        tile.c = isRounded ? nullptr : c.data();
        tile.rounded = isRounded ? rounded.data() : nullptr;
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t column = 0; column < columns; ++column) {
            float &sum = sums[row * cStep + column];
            if (!adds)
              sum = 0;
            for (int64_t s = 0; s < segments; ++s)
              for (int64_t i = 0; i < 2 * length; ++i) {
                int64_t pair = i / 2;
                int64_t left = byColumns ? (s * length + pair) * aStep + row
                                         : (s * rows + row) * aStep + pair;
                int64_t right = s * bSegment + pair * bStep + column;
                sum += a.wide[2 * left + i % 2] * b.wide[2 * right + i % 2];
              }
          }
        (byColumns ? kernels.multiplyColumns : kernels.multiplyRows)(tile);
        if (!isRounded) {
          ASSERT_EQ(c, sums) << rows << " rows, " << vectors << " vectors, "
                             << length << " pairs";
          continue;
        }
        std::vector<uint16_t> expected(rounded.size());
        for (int64_t row = 0; row < rows; ++row)
          roundFromF32(sums.data() + row * cStep, expected.data() + row * cStep,
                       INGOT_BF16, columns);
        ASSERT_EQ(rounded, expected) << rows << " rows, " << vectors
                                     << " vectors, " << length << " pairs";
      }
}

TEST(TileUnits, DirectRowsAreExact) {
  if (!hasTileUnits())
    GTEST_SKIP() << "this processor does not multiply bf16";
  checkTiles(/*byColumns=*/false);
}

TEST(TileUnits, DirectColumnsAreExact) {
  if (!hasTileUnits())
    GTEST_SKIP() << "this processor does not multiply bf16";
  checkTiles(/*byColumns=*/true);
}

// What the units refuse is seen: the emulator is worth something as a test. It
// runs on every processor, unlike the kernels.
TEST(TileUnitsDeathTest, ShapesHaveToFit) {
  struct alignas(64) {
    uint8_t palette = 1, startRow = 0, reserved[14] = {};
    uint16_t rowBytes[16] = {64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 8};
  } config;
  EXPECT_DEATH(multiplyTiles(0, 1, 2), "there is no configuration");
  auto multiply = [&](int sums, int a, int b) {
    loadConfig(&config);
    multiplyTiles(sums, a, b);
    releaseTiles();
  };
  int64_t before = countTileProducts();
  multiply(0, 1, 2);
  EXPECT_EQ(countTileProducts(), before + 1);
  EXPECT_DEATH(multiply(0, 3, 2), "differ in rows");
  EXPECT_DEATH(multiply(0, 1, 3), "differ in the inner dimension");
  EXPECT_DEATH(multiply(0, 1, 5), "has no rows");
  EXPECT_DEATH(multiply(0, 1, 1), "share a register");
  config.rowBytes[2] = 32;
  EXPECT_DEATH(multiply(0, 1, 2), "differ in columns");
}

} // namespace
