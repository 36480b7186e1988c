// SPDX-License-Identifier: Apache-2.0

// Products of random sizes and layouts against sums in double, on vector units,
// also by Strassen's algorithm, and on tile units where there are some, and the
// promise that an element's bits depend on its row and column alone, which
// Strassen's algorithm does not make.

#include "runtime/cpu/gemm/RunGemm.h"

#include "runtime/core/Memory.h"
#include "runtime/cpu/gemm/PackedGemm.h"
#include "runtime/cpu/plan/Scratch.h"
#include "runtime/cpu/threads/ThreadPool.h"
#include "runtime/cpu/vectors/TileUnits.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

using namespace ingot::runtime;

namespace {

/// The units or the algorithm that multiplies.
enum class Units { Vectors, Strassen, Tiles };

struct Problem {
  Problem(std::mt19937 &random, int64_t batch, int64_t m, int64_t n, int64_t k,
          bool transposesA, bool transposesB, Units units = Units::Vectors)
      : a(batch * m * k), b(batch * k * n), c(batch * m * n, NAN) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (std::vector<float> *values : {&a, &b})
      for (float &value : *values)
        value = uniform(random);
    gemm = {batch,
            m,
            n,
            k,
            {a.data(), INGOT_F32},
            m * k,
            transposesA ? 1 : k,
            transposesA ? m : 1,
            {b.data(), INGOT_F32},
            k * n,
            transposesB ? 1 : n,
            transposesB ? k : 1,
            c.data(),
            m * n,
            n};
    setUnits(units);
  }

  void setUnits(Units units) {
    gemm.onTiles = units == Units::Tiles;
    gemm.byStrassen = units == Units::Strassen;
  }

  void run() {
    // What the compiler plans covers it.
    ingot_matmul_desc desc = {};
    desc.batch = gemm.batch, desc.m = gemm.m, desc.n = gemm.n, desc.k = gemm.k;
    desc.transpose_a = gemm.aInner != 1;
    if (gemm.byStrassen)
      desc.math = INGOT_MATH_STRASSEN;
    for (int64_t threads : {getThreadCount(), 64}) {
      ingot::cpu::ScratchMachine machine = {threads};
      machine.tilesF32 = gemm.onTiles;
      if (isOnTiles(desc, machine) == gemm.onTiles)
        ASSERT_LE(getGemmScratchBytes(gemm),
                  ingot::cpu::getScratchBytes(desc, machine));
    }
    Block scratch(static_cast<int64_t>(getGemmScratchBytes(gemm)), "scratch");
    runGemm(gemm, scratch.getData());
  }

  double expected(int64_t batch, int64_t i, int64_t j,
                  double &magnitude) const {
    double sum = 0;
    magnitude = 0;
    for (int64_t l = 0; l < gemm.k; ++l) {
      double term =
          static_cast<double>(
              a[batch * gemm.aBatch + i * gemm.aRow + l * gemm.aInner]) *
          b[batch * gemm.bBatch + l * gemm.bInner + j * gemm.bColumn];
      sum += term;
      magnitude += std::fabs(term);
    }
    return sum;
  }

  std::vector<float> a, b, c;
  ingot::runtime::Gemm gemm;
};

class Gemm : public testing::TestWithParam<Units> {
  void SetUp() override {
    if (GetParam() == Units::Tiles && !hasTileUnits())
      GTEST_SKIP() << "this processor lacks tile units";
  }
};
INSTANTIATE_TEST_SUITE_P(, Gemm,
                         testing::Values(Units::Vectors, Units::Strassen,
                                         Units::Tiles),
                         [](const auto &info) {
                           return info.param == Units::Tiles      ? "OnTiles"
                                  : info.param == Units::Strassen ? "ByStrassen"
                                                                  : "OnVectors";
                         });

TEST_P(Gemm, EqualsSumsInDouble) {
  std::mt19937 random(1);
  auto upTo = [&](int64_t most) {
    return static_cast<int64_t>(1 + random() % most);
  };
  for (int trial = 0; trial < 80; ++trial) {
    bool isLong = trial % 10 == 0, isSplit = trial % 10 == 5;
    Problem problem(random, !isSplit && trial % 4 == 0 ? upTo(5) : 1, upTo(70),
                    isLong ? upTo(1100) : upTo(100),
                    isLong    ? upTo(900)
                    : isSplit ? 3071 + upTo(900)
                              : upTo(60),
                    random() % 2, random() % 2, GetParam());
    problem.run();
    const ingot::runtime::Gemm &g = problem.gemm;
    for (int64_t batch = 0; batch < g.batch; ++batch)
      for (int64_t i = 0; i < g.m; ++i)
        for (int64_t j = 0; j < g.n; ++j) {
          double magnitude = 0, want = problem.expected(batch, i, j, magnitude);
          auto k = static_cast<double>(g.k);
          // Strassen's algorithm errs by the size of the operands, here 1, not
          // of the terms (Higham, "Accuracy and Stability of Numerical
          // Algorithms", 2nd edition, section 23.2.2).
          double bound = g.byStrassen ? 1.2e-7 * (k + 8) * k
                                      : 1.2e-7 * (k + 1) * magnitude;
          ASSERT_NEAR(problem.c[(batch * g.m + i) * g.n + j], want, bound)
              << g.batch << " x " << g.m << " x " << g.n << " x " << g.k;
        }
  }
}

/// Doubles elements of c, and counts them.
struct Doubling {
  static void run(void *const *buffers, int64_t rowBegin, int64_t rowEnd,
                  int64_t columnBegin, int64_t columnEnd) {
    auto *c = static_cast<float *>(buffers[0]);
    auto *count = static_cast<int *>(buffers[1]);
    int64_t columns = *static_cast<int64_t *>(buffers[2]);
    for (int64_t i = rowBegin; i < rowEnd; ++i)
      for (int64_t j = columnBegin; j < columnEnd; ++j) {
        c[i * columns + j] *= 2;
        ++count[i * columns + j];
      }
  }
};

TEST_P(Gemm, EpilogueFinishesEveryElementOnce) {
  std::mt19937 random(3);
  using Sizes = std::tuple<int64_t, int64_t, int64_t, int64_t>;
  for (auto [batch, m, n, k] :
       {Sizes(1, 100, 700, 900), Sizes(3, 25, 50, 400), Sizes(1, 7, 33, 5),
        Sizes(1, 8250, 500, 20), Sizes(1, 300, 1, 50), Sizes(2, 1, 80, 50),
        Sizes(1, 40, 500, 4400), Sizes(1, 290, 500, 2100)}) {
    Problem plain(random, batch, m, n, k, false, true, GetParam()),
        finished = plain;
    finished.gemm.c = finished.c.data();
    std::vector<int> count(finished.c.size(), 0);
    int64_t columns = n;
    void *buffers[] = {finished.c.data(), count.data(), &columns};
    finished.gemm.epilogue = Doubling::run;
    finished.gemm.buffers = buffers;
    plain.run();
    finished.run();
    for (size_t i = 0; i < plain.c.size(); ++i) {
      ASSERT_EQ(finished.c[i], 2 * plain.c[i]);
      ASSERT_EQ(count[i], 1);
    }
  }
}

TEST_P(Gemm, BitsDependOnRowAndColumnAlone) {
  if (GetParam() == Units::Strassen)
    GTEST_SKIP() << "rows and columns share sums with others";
  std::mt19937 random(2);
  Problem whole(random, 1, 100, 700, 500, false, false, GetParam());
  whole.run();
  // The same product, a few rows and a part of the columns at a time.
  using Rows = std::pair<int64_t, int64_t>;
  for (auto [i, rows] :
       {Rows(0, 1), Rows(11, 1), Rows(12, 1), Rows(99, 1), Rows(3, 2),
        Rows(5, 4), Rows(40, 6), Rows(60, 8), Rows(89, 11)}) {
    Problem part = whole;
    part.gemm.a = whole.gemm.a + i * 500;
    part.gemm.b = whole.gemm.b + 333;
    part.gemm.m = rows;
    part.gemm.n = 50;
    part.gemm.c = part.c.data();
    part.run();
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < 50; ++j)
        ASSERT_EQ(part.c[r * part.gemm.cRow + j],
                  whole.c[(i + r) * 700 + 333 + j]);
  }
}

// A row or a column is multiplied from where the matrix is, in any layout.
TEST(GemmVector, HasTheBitsOfTheProductWithoutPacking) {
  std::mt19937 random(8);
  for (auto [m, n, k] : {std::tuple(37, 41, 800), std::tuple(16, 2100, 9),
                         std::tuple(4200, 3, 390)})
    for (int layout = 0; layout < 4; ++layout) {
      Problem whole(random, 1, m, n, k, layout & 1, layout & 2);
      whole.run();
      Problem row = whole;
      row.gemm.a = whole.gemm.a + 2 * whole.gemm.aRow;
      row.gemm.m = 1;
      row.gemm.c = row.c.data();
      if (row.gemm.aInner == 1) {
        EXPECT_EQ(getGemmScratchBytes(row.gemm), 0u);
        row.run();
        for (int64_t j = 0; j < n; ++j)
          ASSERT_EQ(row.c[j], whole.c[2 * n + j]) << layout << " " << j;
      }
      Problem column = whole;
      column.gemm.b = whole.gemm.b + 2 * whole.gemm.bColumn;
      column.gemm.n = 1;
      column.gemm.c = column.c.data();
      if (column.gemm.bInner != 1)
        continue;
      EXPECT_EQ(getGemmScratchBytes(column.gemm), 0u);
      column.run();
      for (int64_t i = 0; i < m; ++i)
        ASSERT_EQ(column.c[i * n], whole.c[i * n + 2]) << layout << " " << i;
    }
}

// Operands and results of 16 bits, in batches.
TEST(GemmVector, RoundsAndWidens) {
  std::mt19937 random(9);
  for (int32_t type : {INGOT_BF16, INGOT_F16})
    for (int layout = 0; layout < 4; ++layout)
      for (bool isColumn : {false, true}) {
        constexpr int64_t batch = 3, lines = 70, k = 500;
        int64_t m = isColumn ? lines : 1, n = isColumn ? 1 : lines;
        Problem wide(random, batch, m, n, k, layout & 1, layout & 2);
        std::vector<uint16_t> a(wide.a.size()), b(wide.b.size()),
            c(wide.c.size()), want(wide.c.size());
        auto round = [&](std::vector<float> &values,
                         std::vector<uint16_t> &to) {
          auto count = static_cast<int64_t>(values.size());
          roundFromF32(values.data(), to.data(), type, count);
          widenToF32(to.data(), type, values.data(), count);
        };
        round(wide.a, a);
        round(wide.b, b);
        wide.run();
        ingot::runtime::Gemm half = wide.gemm;
        half.a = {a.data(), type};
        half.b = {b.data(), type};
        half.roundedType = type;
        half.rounded = c.data();
        half.roundedRow = n;
        ASSERT_TRUE(canRound(half));
        runGemm(half, nullptr);
        roundFromF32(wide.c.data(), want.data(), type,
                     static_cast<int64_t>(want.size()));
        EXPECT_EQ(c, want) << type << " " << layout << " " << isColumn;
      }
}

// What is rounded are the sums of all parts of the inner dimension.
TEST(SplitGemm, RoundsWholeSums) {
  std::mt19937 random(10);
  for (int32_t type : {INGOT_BF16, INGOT_F16})
    for (int64_t k : {3072, 3073, 5000}) {
      constexpr int64_t m = 50, n = 70;
      Problem wide(random, 1, m, n, k, true, false);
      std::vector<uint16_t> a(wide.a.size()), b(wide.b.size()), c(m * n),
          want(m * n);
      roundFromF32(wide.a.data(), a.data(), type, m * k);
      roundFromF32(wide.b.data(), b.data(), type, k * n);
      ingot::runtime::Gemm half = wide.gemm;
      half.a = {a.data(), type};
      half.b = {b.data(), type};
      Block scratch(static_cast<int64_t>(getGemmScratchBytes(half)), "scratch");
      runGemm(half, scratch.getData());
      roundFromF32(wide.c.data(), want.data(), type, m * n);
      half.roundedType = type;
      half.rounded = c.data();
      half.roundedRow = n;
      ASSERT_TRUE(canRound(half));
      runGemm(half, scratch.getData());
      EXPECT_EQ(c, want) << type << " " << k;
    }
}

/// Sets the number of threads while it lives.
struct Threads {
  explicit Threads(int count) : before(getThreadCount()) {
    setThreadCount(count);
  }
  ~Threads() { setThreadCount(before); }
  int before;
};

// Shares of unequal size, and more threads than processors; several blocks,
// groups and inner extents of a region.
TEST_P(Gemm, ThreadsDoNotShareScratch) {
  std::mt19937 random(4);
  using Sizes = std::tuple<int64_t, int64_t, int64_t, int64_t>;
  for (auto [batch, m, n, k] :
       {Sizes(10, 40, 40, 300), Sizes(1, 300, 80, 500), Sizes(1, 40, 2700, 40),
        Sizes(1, 70, 90, 3500), Sizes(1, 130, 3100, 900),
        Sizes(1, 100, 1300, 2100)})
    for (int count : {2, 3, 4, 7, 64}) {
      Threads threads(count);
      Problem shared(random, batch, m, n, k, random() % 2, random() % 2,
                     GetParam()),
          alone = shared;
      alone.gemm.c = alone.c.data();
      shared.run();
      {
        Threads one(1);
        alone.run();
      }
      EXPECT_EQ(shared.c, alone.c);
    }
}

// Nothing is multiplied: tile units need not be there.
TEST(GemmScratch, IsAsPlanned) {
  std::mt19937 random(7);
  auto upTo = [&](int64_t most) {
    return static_cast<int64_t>(1 + random() % most);
  };
  int threads = getThreadCount();
  for (int trial = 0; trial < 3000; ++trial) {
    ingot_matmul_desc d = {};
    d.batch = trial % 3 == 0 ? upTo(6) : 1;
    d.m = upTo(random() % 2 ? 200 : 12000);
    d.n = upTo(random() % 2 ? 600 : 6000);
    d.k = upTo(random() % 2 ? 800 : 5000);
    d.transpose_a = random() % 2;
    d.transpose_b = random() % 2;
    int32_t types[] = {INGOT_F32, INGOT_BF16, INGOT_F16};
    d.a_type = d.b_type = types[random() % 3];
    d.c_type = random() % 2 ? d.a_type : INGOT_F32;
    d.math = random() % 2 ? INGOT_MATH_STRASSEN : INGOT_MATH_EXACT;
    ingot::cpu::ScratchMachine machine;
    machine.threads = upTo(32);
#ifdef __x86_64__
    machine.tilesF32 = machine.tilesHalves = random() % 2;
#endif
    setThreadCount(static_cast<int>(machine.threads));
    ASSERT_LE(getPackedScratchBytes(d, isOnTiles(d, machine)),
              static_cast<size_t>(getScratchBytes(d, machine)))
        << d.batch << " x " << d.m << " x " << d.n << " x " << d.k;
  }
  setThreadCount(threads);
}

/// Root of the mean squared error, over that of the results.
double getError(const Problem &problem) {
  const ingot::runtime::Gemm &g = problem.gemm;
  double errors = 0, results = 0, magnitude;
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = 0; j < g.n; ++j) {
      double want = problem.expected(0, i, j, magnitude);
      errors += std::pow(problem.c[i * g.n + j] - want, 2);
      results += want * want;
    }
  return std::sqrt(errors / results);
}

// Parts in bf16 lose nothing. Numbers of one size and of many, where one term
// makes a sum and six products of parts are rounded for one; sums with and
// without cancellation.
TEST(GemmAccuracy, TilesAreAsAccurateAsMultiplyAdds) {
  if (!hasTileUnits())
    GTEST_SKIP() << "this processor lacks tile units";
  std::mt19937 random(5);
  std::uniform_real_distribution<float> exponent(-30, 30);
  for (bool isWide : {false, true})
    for (bool isPositive : {false, true})
      for (int64_t k : {16, 300, 1500}) {
        Problem vectors(random, 1, 40, 60, k, false, true);
        for (std::vector<float> *values : {&vectors.a, &vectors.b})
          for (float &value : *values) {
            if (isPositive)
              value = std::fabs(value);
            if (isWide)
              value *= std::exp2(exponent(random));
          }
        Problem tiles = vectors;
        tiles.gemm.c = tiles.c.data();
        tiles.setUnits(Units::Tiles);
        vectors.run();
        tiles.run();
        EXPECT_LE(getError(tiles), (isWide ? 2 : 1.05) * getError(vectors))
            << k << " " << isWide << isPositive;
      }
}

// An operand's parts of one size lose about one bit more than sums of products.
// Where a row is much larger than its neighbours, so are their errors.
TEST(GemmAccuracy, StrassenLosesABit) {
  std::mt19937 random(10);
  for (int64_t k : {256, 1500}) {
    Problem plain(random, 1, 100, 130, k, false, true), strassen = plain;
    strassen.gemm.c = strassen.c.data();
    strassen.setUnits(Units::Strassen);
    plain.run();
    strassen.run();
    EXPECT_NE(plain.c, strassen.c);
    // Factors are twice as large, and their sums are not in parts.
    EXPECT_LE(getError(strassen), 3 * getError(plain)) << k;
  }
}

// Operands of 16 bits are widened before they are added to each other. One of
// them, because a CPU may multiply two in bf16 otherwise.
TEST(GemmAccuracy, StrassenWidens) {
  std::mt19937 random(11);
  for (int32_t type : {INGOT_BF16, INGOT_F16})
    for (int layout = 0; layout < 4; ++layout)
      for (bool isA : {false, true}) {
        Problem wide(random, 1, 61, 150, isA ? 129 : 700, layout & 1,
                     layout & 2, Units::Strassen);
        std::vector<float> &values = isA ? wide.a : wide.b;
        std::vector<uint16_t> halves(values.size());
        auto count = static_cast<int64_t>(values.size());
        roundFromF32(values.data(), halves.data(), type, count);
        widenToF32(halves.data(), type, values.data(), count);
        Problem half = wide;
        (isA ? half.gemm.a : half.gemm.b) = {halves.data(), type};
        half.gemm.c = half.c.data();
        wide.run();
        half.run();
        EXPECT_EQ(half.c, wide.c) << type << " " << layout << " " << isA;
      }
}

// The largest numbers stay finite, and what is not finite is not lost.
TEST(GemmAccuracy, TilesKeepExtremes) {
  if (!hasTileUnits())
    GTEST_SKIP() << "this processor lacks tile units";
  std::mt19937 random(6);
  Problem problem(random, 1, 33, 33, 40, false, false, Units::Tiles);
  constexpr float largest = std::numeric_limits<float>::max();
  problem.a.assign(problem.a.size(), 0);
  problem.b.assign(problem.b.size(), 0);
  problem.b[0] = 1;
  problem.a[0] = largest;
  problem.a[1 * 40] = std::numeric_limits<float>::infinity();
  problem.a[2 * 40] = std::numeric_limits<float>::quiet_NaN();
  problem.a[3 * 40] = 0x1p-100f;
  problem.run();
  EXPECT_EQ(problem.c[0], largest);
  EXPECT_FALSE(std::isfinite(problem.c[1 * 33]));
  EXPECT_TRUE(std::isnan(problem.c[2 * 33]));
  EXPECT_EQ(problem.c[3 * 33], 0x1p-100f);
  EXPECT_EQ(problem.c[4 * 33], 0);
}

} // namespace
