// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/attention/FlashAttention.h"
#include "runtime/core/Memory.h"
#include "runtime/core/Random.h"
#include "runtime/cpu/gemm/RunGemm.h"
#include "runtime/cpu/threads/ThreadPool.h"
#include "runtime/cpu/vectors/HalfPrecision.h"
#include "runtime/cpu/vectors/TileUnits.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

using namespace ingot::runtime;

namespace {

using Floats = std::vector<float>;

/// Numbers in memory as one of the types that the kernel takes.
struct Stored {
  int32_t type;
  std::vector<char> bytes;

  explicit Stored(int32_t type, const Floats &values)
      : type(type), bytes(values.size() * elementBytes()) {
    if (type == INGOT_F32)
      std::memcpy(bytes.data(), values.data(), bytes.size());
    else
      roundFromF32(values.data(), bytes.data(), type, values.size());
  }
  Stored(int32_t type, size_t count) : Stored(type, Floats(count, NAN)) {}

  int64_t elementBytes() const { return type == INGOT_F32 ? 4 : 2; }
  Floats read() const {
    Floats values(bytes.size() / elementBytes());
    if (type == INGOT_F32)
      std::memcpy(values.data(), bytes.data(), bytes.size());
    else
      widenToF32(bytes.data(), type, values.data(), values.size());
    return values;
  }
  /// Returns a view of [batch, rows, heads, columns]: heads are strided.
  template <typename View>
  View view(int64_t rows, int64_t heads, int64_t columns) const {
    int64_t row = heads * columns * elementBytes();
    return {const_cast<char *>(bytes.data()), rows * row,
            columns * elementBytes(), row};
  }
  ReadRows in(int64_t rows, int64_t heads, int64_t columns) const {
    return view<ReadRows>(rows, heads, columns);
  }
  WrittenRows out(int64_t rows, int64_t heads, int64_t columns) {
    return view<WrittenRows>(rows, heads, columns);
  }
};

struct Case {
  const char *name;
  AttentionShape shape;
  bool bias = false, mask = false;
  /// The lengths of batches in turn; none: all keys.
  std::vector<int32_t> lengths = {};
  double dropout = 0;
};

/// The factors of the weights, from the random numbers of docs/spec/random.md.
Floats drawKept(double ratio, int64_t seed, int32_t step, int32_t stream,
                int64_t count) {
  Philox random(seed, static_cast<uint64_t>(stream) << 32 |
                          static_cast<uint32_t>(step));
  Floats kept(count);
  for (float &each : kept)
    each = (random.next() >> 8) * 0x1p-24f >= static_cast<float>(ratio)
               ? static_cast<float>(1 / (1 - ratio))
               : 0.0f;
  return kept;
}

/// Tests of each type, on vector units, and on tile units where there are some.
class FlashAttention
    : public testing::TestWithParam<std::tuple<Case, int32_t, bool>> {
  void SetUp() override {
    if (std::get<2>(GetParam()) && !hasTileUnits())
      GTEST_SKIP() << "this processor lacks tile units";
  }
};

/// The plain form in double precision, with its gradient by the chain rule.
TEST_P(FlashAttention, AgreesWithThePlainForm) {
  auto [test, type, onTiles] = GetParam();
  AttentionShape s = test.shape;
  s.type = type;
  s.onTiles = onTiles;
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  auto draw = [&](int64_t count) {
    Floats values(count);
    for (float &value : values)
      value = normal(random);
    return values;
  };
  int64_t rows = s.batch * s.heads * s.queries;
  int64_t keyRows = s.batch * s.keyHeads * s.keys;
  Stored qs(type, draw(rows * s.size)), gs(type, draw(rows * s.valueSize));
  Stored ks(type, draw(keyRows * s.size)),
      vs(type, draw(keyRows * s.valueSize));
  Floats q = qs.read(), g = gs.read(), k = ks.read(), v = vs.read();
  Floats bias = draw(s.heads * s.queries * s.keys);
  // Sequences of different lengths; the last one is empty.
  std::vector<unsigned char> mask(s.batch * s.keys);
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t j = 0; j < s.keys; ++j)
      mask[b * s.keys + j] = j < s.keys * (s.batch - 1 - b) / s.batch;
  if (test.bias)
    s.bias = {bias.data(), 0, s.queries * s.keys, s.keys};
  if (test.mask)
    s.mask = {mask.data(), s.keys, 0, 0};
  if (!test.lengths.empty())
    s.lengths = test.lengths.data();
  Floats kept(rows * s.keys, 1.0f);
  if (test.dropout > 0) {
    s.dropout = Dropout(test.dropout, int64_t(5) << 33 | 3, -2, 6);
    kept = drawKept(test.dropout, int64_t(5) << 33 | 3, -2, 6, kept.size());
  }

  Stored out(type, g.size()), dq(type, q.size()), dk(type, k.size()),
      dv(type, v.size());
  Floats lse(rows, NAN), delta(rows);
  Block scratch(flashAttentionScratch(s) * getThreadCount(), "scratch");
  ReadRows qv = qs.in(s.queries, s.heads, s.size);
  ReadRows kv = ks.in(s.keys, s.keyHeads, s.size);
  ReadRows vv = vs.in(s.keys, s.keyHeads, s.valueSize);
  flashAttention(s, qv, kv, vv, out.out(s.queries, s.heads, s.valueSize),
                 lse.data(), scratch.getData());
  flashAttentionGrad(
      s, qv, kv, vv, out.in(s.queries, s.heads, s.valueSize), lse.data(),
      gs.in(s.queries, s.heads, s.valueSize),
      dq.out(s.queries, s.heads, s.size), dk.out(s.keys, s.keyHeads, s.size),
      dv.out(s.keys, s.keyHeads, s.valueSize), delta.data(), scratch.getData());

  // Each with the sum of what is rounded on the way to it: stored numbers,
  // weights, and what their gradients are made of.
  struct Sums {
    std::vector<double> sum, rounded;
    explicit Sums(size_t size) : sum(size), rounded(size) {}
    void add(int64_t at, double value, double most) {
      sum[at] += value;
      rounded[at] += most;
    }
  };
  Sums wo(g.size()), wq(q.size()), wk(k.size()), wv(v.size());
  auto offset = [](int64_t rows, int64_t heads, int64_t columns, int64_t b,
                   int64_t h, int64_t r) {
    return ((b * rows + r) * heads + h) * columns;
  };
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t h = 0; h < s.heads; ++h)
      for (int64_t i = 0; i < s.queries; ++i) {
        int64_t kh = h / (s.heads / s.keyHeads);
        int64_t qo = offset(s.queries, s.heads, s.size, b, h, i);
        int64_t go = offset(s.queries, s.heads, s.valueSize, b, h, i);
        std::vector<double> p(s.keys), dp(s.keys);
        double top = -INFINITY, total = 0, mean = 0, products = 0;
        for (int64_t j = 0; j < s.keys; ++j) {
          int64_t ko = offset(s.keys, s.keyHeads, s.size, b, kh, j);
          int64_t vo = offset(s.keys, s.keyHeads, s.valueSize, b, kh, j);
          for (int64_t c = 0; c < s.size; ++c)
            p[j] += double(s.scale) * q[qo + c] * k[ko + c];
          for (int64_t c = 0; c < s.valueSize; ++c)
            dp[j] += double(g[go + c]) * v[vo + c];
          if (s.bias.data)
            p[j] += s.bias.at(b, h, i)[j];
          if ((s.mask.data && !s.mask.at(b, h, i)[j]) ||
              (s.lengths && j >= s.lengths[b]) ||
              (s.left >= 0 && j < i - s.left) ||
              (s.right >= 0 && j > i + s.right))
            p[j] = -INFINITY;
          top = std::max(top, p[j]);
        }
        for (double &x : p)
          total += x = std::isinf(x) ? 0 : std::exp(x - top);
        // Weights that count in the result.
        std::vector<double> w(s.keys);
        const float *keep = &kept[((b * s.heads + h) * s.queries + i) * s.keys];
        for (int64_t j = 0; j < s.keys; ++j) {
          dp[j] *= keep[j];
          mean += (p[j] /= total > 0 ? total : 1) * dp[j];
          w[j] = p[j] * keep[j];
        }
        Floats result(s.valueSize);
        for (int64_t j = 0; j < s.keys; ++j)
          for (int64_t c = 0; c < s.valueSize; ++c)
            result[c] +=
                w[j] * v[offset(s.keys, s.keyHeads, s.valueSize, b, kh, j) + c];
        for (int64_t c = 0; c < s.valueSize; ++c)
          products += std::abs(g[go + c] * result[c]);
        double want = total > 0 ? top + std::log(total) : INFINITY;
        float got = lse[(b * s.heads + h) * s.queries + i];
        if (total > 0)
          ASSERT_NEAR(got, want, 1e-5 * (1 + std::abs(want)));
        else
          ASSERT_EQ(got, INFINITY);
        for (int64_t j = 0; j < s.keys; ++j) {
          int64_t ko = offset(s.keys, s.keyHeads, s.size, b, kh, j);
          int64_t vo = offset(s.keys, s.keyHeads, s.valueSize, b, kh, j);
          double ds = p[j] * (dp[j] - mean) * s.scale;
          double most = p[j] * (std::abs(dp[j] - mean) + products) * s.scale;
          for (int64_t c = 0; c < s.size; ++c) {
            wq.add(qo + c, ds * k[ko + c], std::abs(most * k[ko + c]));
            wk.add(ko + c, ds * q[qo + c], std::abs(most * q[qo + c]));
          }
          for (int64_t c = 0; c < s.valueSize; ++c) {
            wo.add(go + c, w[j] * v[vo + c], std::abs(w[j] * v[vo + c]));
            wv.add(vo + c, w[j] * g[go + c], std::abs(w[j] * g[go + c]));
          }
        }
      }
  // Of each sum: as an operand is rounded, and as it is stored.
  double unit = type == INGOT_F32 ? 0 : type == INGOT_BF16 ? 0x1p-8 : 0x1p-11;
  auto compare = [&](const char *what, const Stored &stored, const Sums &want) {
    Floats got = stored.read();
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want.sum[i],
                  1e-5 + 1e-5 * std::abs(want.sum[i]) +
                      2 * unit * want.rounded[i])
          << what << i;
  };
  compare("out ", out, wo);
  compare("dq ", dq, wq);
  compare("dk ", dk, wk);
  compare("dv ", dv, wv);
}

/// With two threads, two heads take the way of all blocks of a head in turn,
/// one head that of blocks of queries and keys apart.
class FlashAttentionGradient
    : public testing::TestWithParam<std::tuple<int32_t, bool>> {};
TEST_P(FlashAttentionGradient, HasTheSameBitsInPartsOfAHead) {
  auto [type, onTiles] = GetParam();
  AttentionShape s{2, 1, 1, 150, 150, 20, 20, 0.2f, 100, 0};
  int32_t lengths[] = {140, 140};
  s.lengths = lengths;
  s.type = type;
  s.onTiles = onTiles;
  if (s.onTiles && !hasTileUnits())
    GTEST_SKIP() << "this processor lacks tile units";
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  int64_t each = s.queries * s.size;
  auto draw = [&] {
    Floats values(2 * each);
    for (float &value : values)
      value = normal(random);
    return Stored(type, values);
  };
  Stored q = draw(), k = draw(), v = draw(), g = draw();
  struct Gradients {
    Stored dq, dk, dv;
  };
  Block scratch(flashAttentionScratch(s) * getThreadCount(), "scratch");
  auto differentiate = [&](int64_t first, int64_t count) {
    s.batch = count;
    size_t size = count * each;
    Stored out(type, size);
    Floats lse(count * s.queries), delta(count * s.queries);
    Gradients result{{type, size}, {type, size}, {type, size}};
    auto in = [&](const Stored &x) {
      ReadRows rows = x.in(s.queries, s.heads, s.size);
      rows.data += first * each * x.elementBytes();
      return rows;
    };
    auto to = [&](Stored &x) { return x.out(s.queries, s.heads, s.size); };
    flashAttention(s, in(q), in(k), in(v), to(out), lse.data(),
                   scratch.getData());
    flashAttentionGrad(s, in(q), in(k), in(v),
                       out.in(s.queries, s.heads, s.size), lse.data(), in(g),
                       to(result.dq), to(result.dk), to(result.dv),
                       delta.data(), scratch.getData());
    return result;
  };
  Gradients both = differentiate(0, 2);
  for (int64_t batch = 0; batch < 2; ++batch) {
    Gradients one = differentiate(batch, 1);
    auto equal = [&](const Stored &x, const Stored &y) {
      return std::equal(x.bytes.begin(), x.bytes.end(),
                        y.bytes.begin() + batch * each * x.elementBytes());
    };
    EXPECT_TRUE(equal(one.dq, both.dq));
    EXPECT_TRUE(equal(one.dk, both.dk));
    EXPECT_TRUE(equal(one.dv, both.dv));
  }
}

/// A thread keeps the gradients of all heads that share keys, or a block.
TEST(FlashAttentionScratch, StaysSmallForManyQueries) {
  for (int32_t type : {INGOT_F32, INGOT_BF16, INGOT_F16}) {
    AttentionShape s{1, 8, 1, 4096, 4096, 64, 64};
    s.type = type;
    int64_t most = flashAttentionScratch(s);
    EXPECT_LE(most, 10 << 20);
    s.queries = s.keys = 100000;
    EXPECT_LE(flashAttentionScratch(s), most);
  }
}

std::string nameOf(int32_t type, bool onTiles) {
  std::string name = type == INGOT_F32    ? "F32"
                     : type == INGOT_BF16 ? "Bf16"
                                          : "F16";
  return name + (onTiles ? "OnTiles" : "OnVectors");
}

const auto kTypes = testing::Values(INGOT_F32, INGOT_BF16, INGOT_F16);

INSTANTIATE_TEST_SUITE_P(, FlashAttentionGradient,
                         testing::Combine(kTypes, testing::Bool()),
                         [](const auto &info) {
                           return nameOf(std::get<0>(info.param),
                                         std::get<1>(info.param));
                         });

//                  batch heads kv  T    S   d   dv scale left right
INSTANTIATE_TEST_SUITE_P(
    Cases, FlashAttention,
    testing::Combine(
        testing::Values(
            Case{"plain", {2, 2, 2, 130, 97, 64, 64, 0.125f}},
            Case{"causal", {1, 2, 2, 200, 200, 64, 64, 0.125f, -1, 0}},
            Case{"grouped", {1, 6, 2, 70, 70, 24, 40, 0.2f, -1, 0}},
            Case{"window", {1, 2, 1, 210, 210, 16, 16, 0.25f, 20, 5}},
            Case{"beyond", {1, 1, 1, 200, 50, 16, 16, 0.25f, 20, 0}},
            Case{"biased", {2, 3, 3, 33, 65, 8, 8, 0.3f}, true},
            Case{"apart", {1, 1, 1, 230, 230, 40, 24, 0.2f, 90, 0}, true},
            Case{
                "ragged", {3, 2, 1, 100, 100, 32, 32, 0.2f, -1, 0}, true, true},
            // No key, some of a block, one of a block, more than there are.
            Case{"lengths",
                 {4, 2, 1, 110, 200, 24, 40, 0.2f},
                 false,
                 false,
                 {0, 50, 65, 300}},
            Case{"lengths_causal",
                 {3, 2, 2, 150, 150, 16, 16, 0.25f, 40, 0},
                 true,
                 false,
                 {-1, 64, 130}},
            Case{"dropout",
                 {2, 4, 2, 100, 140, 32, 24, 0.2f},
                 false,
                 false,
                 {},
                 0.3},
            // Rows whose first numbers are in the middle of a block of four.
            Case{"dropout_odd",
                 {2, 2, 1, 70, 131, 16, 16, 0.25f, -1, 0},
                 true,
                 false,
                 {131, 77},
                 0.1},
            // Several blocks of keys, and of queries.
            Case{"long", {1, 1, 1, 420, 610, 32, 40, 0.2f, -1, 150}},
            Case{"long_window", {1, 2, 1, 590, 590, 24, 32, 0.2f, 130, 10}},
            Case{"long_lengths",
                 {2, 2, 2, 300, 530, 64, 64, 0.125f},
                 false,
                 true,
                 {0, 290}},
            // Rows so far apart that they are packed, and so close that they
            // are not.
            Case{"far", {1, 8, 8, 70, 70, 64, 64, 0.125f, -1, 0}},
            Case{"near", {1, 3, 3, 70, 70, 32, 32, 0.125f, -1, 0}},
            // Heads of one and a half of the widest tiles, read in place or
            // packed.
            Case{"wide", {1, 2, 1, 130, 150, 96, 72, 0.1f, 40, 3}},
            Case{"wide_values", {1, 1, 1, 100, 90, 40, 160, 0.15f}},
            // The least product is the highest score.
            Case{"negative", {1, 2, 2, 80, 80, 16, 16, -0.2f, -1, 0}},
            // Less than the numbers' step.
            Case{"dropout_little",
                 {1, 1, 1, 64, 64, 8, 8, 0.3f},
                 false,
                 false,
                 {},
                 0x1p-30}),
        kTypes, testing::Bool()),
    [](const auto &info) {
      return std::get<0>(info.param).name +
             nameOf(std::get<1>(info.param), std::get<2>(info.param));
    });

} // namespace
