//===----------------------------------------------------------------------===//
//
// ingot_matmul against plain loops, on random shapes.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/Scratch.h"
#include "runtime/core/Context.h"
#include "runtime/core/Random.h"
#include "runtime/cpu/ThreadPool.h"

#include <gtest/gtest.h>

#include <cmath>
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
    d.scratch_bytes = ingot::abi::getScratchBytes(d, {getThreadCount()});
    Block scratch(d.scratch_bytes, "scratch");
    // Twice, so that the second call takes the cached primitive.
    for (int repeat = 0; repeat < 2; ++repeat) {
      std::vector<T> a = draw<T>(random, d.batch * d.m * d.k);
      std::vector<T> b = draw<T>(random, d.batch * d.k * d.n);
      std::vector<T> c(d.batch * d.m * d.n, T(NAN));
      ingot_matmul(&context, &d, a.data(), b.data(), c.data(),
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

TEST(Matmul, UnknownTypeIsRecorded) {
  ingot_matmul_desc d = {1, 2, 2, 2, 0, 0, 77, 77, 77, 0, 0, 0};
  float values[4] = {};
  ingot_context context;
  ingot_matmul(&context, &d, values, values, values, nullptr);
  EXPECT_TRUE(context.failed);
  EXPECT_NE(context.message.find("matmul"), std::string::npos);
  // The first failure stays, and later calls do nothing.
  std::string message = context.message;
  ingot_matmul(&context, &d, values, values, values, nullptr);
  EXPECT_EQ(context.message, message);
}

TEST(Matmul, Profiled) {
  ingot_matmul_desc d = {1,         2,         2,         2, 0, 0,
                         INGOT_F32, INGOT_F32, INGOT_F32, 0, 0, 5};
  float a[4] = {1, 2, 3, 4}, c[4];
  ingot_context context;
  context.profiling = true;
  ingot_matmul(&context, &d, a, a, c, nullptr);
  ASSERT_EQ(context.events.size(), 1u);
  EXPECT_EQ(context.events[0].kernel, 5);
}

} // namespace
