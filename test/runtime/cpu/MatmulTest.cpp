// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingot_matmul against plain loops, on random shapes.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Context.h"
#include "runtime/core/Random.h"
#include "runtime/core/machine/Features.h"
#include "runtime/cpu/gemm/RunGemm.h"
#include "runtime/cpu/plan/Scratch.h"
#include "runtime/cpu/threads/ThreadPool.h"
#include "runtime/cpu/vectors/HalfPrecision.h"
#include "runtime/cpu/vectors/TileUnits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

using namespace ingot::runtime;

namespace {

template <typename T> std::vector<T> draw(Philox &random, int64_t count) {
  std::vector<T> values(count);
  for (T &value : values)
    value = static_cast<T>(random.normal());
  return values;
}

template <typename T>
std::vector<double> multiply(const ingot_matmul_desc &d,
                             const std::vector<T> &a, const std::vector<T> &b) {
  std::vector<double> c(d.batch * d.m * d.n);
  for (int64_t i = 0; i < d.batch; ++i)
    for (int64_t r = 0; r < d.m; ++r)
      for (int64_t s = 0; s < d.n; ++s)
        for (int64_t t = 0; t < d.k; ++t) {
          int64_t ai = d.transpose_a ? t * d.m + r : r * d.k + t;
          int64_t bi = d.transpose_b ? s * d.k + t : t * d.n + s;
          c[(i * d.m + r) * d.n + s] +=
              static_cast<double>(a[i * d.m * d.k + ai]) *
              static_cast<double>(b[i * d.k * d.n + bi]);
        }
  return c;
}

/// This processor, as the compiler describes it.
ingot::cpu::ScratchMachine describeMachine() {
  ingot::cpu::ScratchMachine machine;
  machine.threads = getThreadCount();
  machine.tilesHalves = machine.tilesF32 = hasTileUnits();
  return machine;
}

template <typename T> void check(ingot_dtype type, double tolerance) {
  Philox random(1, 2);
  // Descriptors outlive the context, which keys its cache on their addresses.
  std::vector<ingot_matmul_desc> descs(60);
  ingot_context context;
  for (ingot_matmul_desc &d : descs) {
    d = {};
    d.batch = 1 + random.below(4);
    d.m = 1 + random.below(40);
    d.n = 1 + random.below(40);
    d.k = 1 + random.below(40);
    d.transpose_a = random.below(2);
    d.transpose_b = random.below(2);
    d.a_type = d.b_type = d.c_type = type;
    d.math = getMath(d, describeMachine());
    d.scratch_bytes = ingot::cpu::getScratchBytes(d, describeMachine());
    Block scratch(d.scratch_bytes, "scratch");
    // Twice, so that the second call takes the cached primitive.
    for (int repeat = 0; repeat < 2; ++repeat) {
      std::vector<T> a = draw<T>(random, d.batch * d.m * d.k);
      std::vector<T> b = draw<T>(random, d.batch * d.k * d.n);
      std::vector<T> c(d.batch * d.m * d.n, T(NAN));
      ingot_matmul(&context, &d, a.data(), b.data(), nullptr, nullptr, c.data(),
                   scratch.getData());
      ASSERT_FALSE(context.failed) << context.message;
      std::vector<double> expected = multiply(d, a, b);
      for (size_t i = 0; i < c.size(); ++i)
        ASSERT_NEAR(c[i], expected[i], tolerance)
            << d.batch << "x" << d.m << "x" << d.n << "x" << d.k << " "
            << d.transpose_a << d.transpose_b;
    }
  }
  EXPECT_EQ(context.getUnplannedBytes(), 0u);
}

TEST(Matmul, F32) { check<float>(INGOT_F32, 1e-4); }
TEST(Matmul, F64) { check<double>(INGOT_F64, 1e-12); }

/// Doubles elements of c, and says where each was.
struct Doubling {
  static void run(void *const *buffers, int64_t rowBegin, int64_t rowEnd,
                  int64_t columnBegin, int64_t columnEnd) {
    auto *c = static_cast<uint16_t *>(buffers[0]);
    int64_t columns = *static_cast<int64_t *>(buffers[1]);
    int32_t type = *static_cast<int32_t *>(buffers[2]);
    for (int64_t i = rowBegin; i < rowEnd; ++i)
      for (int64_t j = columnBegin; j < columnEnd; ++j) {
        float value;
        widenToF32(c + i * columns + j, type, &value, 1);
        value *= 2;
        roundFromF32(&value, c + i * columns + j, type, 1);
      }
  }
};

// Sums are rounded once, in parts that leave columns or batches over.
TEST(Matmul, HalvesAreRoundedOnce) {
  Philox random(3, 4);
  struct Case {
    int64_t batch, m, n, k;
    int32_t result;
  };
  for (int32_t type : {INGOT_BF16, INGOT_F16})
    for (Case size :
         {Case{1, 5, 40, 500, type}, Case{1, 3000, 1300, 3, type},
          Case{1, 100, 500, 1000, type}, Case{40, 300, 270, 3, type},
          Case{3, 13, 35, 20, type}, Case{1, 17, 300, 40, INGOT_F32}})
      for (bool transposes : {false, true}) {
        ingot_matmul_epilogue_desc e = {};
        ingot_matmul_desc &d = e.matmul;
        d.batch = size.batch, d.m = size.m, d.n = size.n, d.k = size.k;
        d.transpose_a = transposes, d.transpose_b = !transposes;
        d.a_type = d.b_type = type, d.c_type = size.result;
        d.math = getMath(d, describeMachine());
        d.scratch_bytes = ingot::cpu::getScratchBytes(d, describeMachine());
        e.epilogue = Doubling::run;
        Block scratch(d.scratch_bytes, "scratch");
        std::vector<float> a = draw<float>(random, d.batch * d.m * d.k);
        std::vector<float> b = draw<float>(random, d.batch * d.k * d.n);
        std::vector<uint16_t> lowA(a.size()), lowB(b.size());
        for (auto [wide, low] : {std::pair(&a, &lowA), std::pair(&b, &lowB)}) {
          roundFromF32(wide->data(), low->data(), type, wide->size());
          widenToF32(low->data(), type, wide->data(), wide->size());
        }
        std::vector<float> c(d.batch * d.m * d.n, NAN);
        ingot_context context;
        int64_t columns = d.n;
        void *buffers[] = {c.data(), &columns, &d.c_type};
        if (size.result == INGOT_F32)
          ingot_matmul(&context, &d, lowA.data(), lowB.data(), nullptr, nullptr,
                       c.data(), scratch.getData());
        else
          ingot_matmul_epilogue(&context, &e, lowA.data(), lowB.data(), nullptr,
                                nullptr, c.data(), scratch.getData(), buffers);
        ASSERT_FALSE(context.failed) << context.message;
        EXPECT_EQ(context.getUnplannedBytes(), 0u);
        double factor = 1, rounding = 1e-6;
        if (size.result != INGOT_F32) {
          std::vector<uint16_t> low(c.size());
          std::memcpy(low.data(), c.data(), 2 * c.size());
          widenToF32(low.data(), type, c.data(), c.size());
          factor = 2, rounding = type == INGOT_BF16 ? 0x1p-8 : 0x1p-11;
        }
        std::vector<double> expected = multiply(d, a, b);
        for (size_t i = 0; i < c.size(); ++i)
          ASSERT_NEAR(c[i], factor * expected[i],
                      rounding * std::fabs(c[i]) + 1e-5 * std::sqrt(d.k))
              << type << ": " << d.batch << "x" << d.m << "x" << d.n << "x"
              << d.k << " at " << i;
      }
}

TEST(Matmul, UnknownTypeIsRecorded) {
  ingot_matmul_desc d = {1, 2, 2, 2, 0, 0, 77, 77, 77, 0, 0, 0, 0, 0};
  float values[4] = {};
  ingot_context context;
  ingot_matmul(&context, &d, values, values, nullptr, nullptr, values, nullptr);
  EXPECT_TRUE(context.failed);
  EXPECT_NE(context.message.find("matmul"), std::string::npos);
  // The first failure stays, and later calls do nothing.
  std::string message = context.message;
  ingot_matmul(&context, &d, values, values, nullptr, nullptr, values, nullptr);
  EXPECT_EQ(context.message, message);
}

TEST(Matmul, Profiled) {
  ingot_matmul_desc d = {1,         2,         2, 2, 0, 0, INGOT_F32,
                         INGOT_F32, INGOT_F32, 0, 0, 0, 0, 5};
  float a[4] = {1, 2, 3, 4}, c[4];
  ingot_context context;
  context.profiling = true;
  ingot_matmul(&context, &d, a, a, nullptr, nullptr, c, nullptr);
  ASSERT_EQ(context.events.size(), 1u);
  EXPECT_EQ(context.events[0].kernel, 5);
}

} // namespace
