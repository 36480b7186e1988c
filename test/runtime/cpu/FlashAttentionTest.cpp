#include "runtime/cpu/attention/FlashAttention.h"
#include "runtime/abi/Scratch.h"
#include "runtime/core/Memory.h"
#include "runtime/cpu/ThreadPool.h"
#include "runtime/cpu/gemm/Gemm.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>
#include <vector>

using namespace ingot::runtime;

namespace {

using Floats = std::vector<float>;

struct Case {
  const char *name;
  AttentionShape shape;
  bool bias = false, mask = false;
};

/// All tensors as [batch, rows, heads, columns]: heads are strided.
template <typename T>
HeadsView<T> view(T *data, int64_t rows, int64_t heads, int64_t columns) {
  return {data, rows * heads * columns, columns, heads * columns};
}

/// On vector units, or on tile units where there are some.
class FlashAttention : public testing::TestWithParam<std::tuple<Case, bool>> {
  void SetUp() override {
    if (std::get<1>(GetParam()) && !hasTileUnits())
      GTEST_SKIP() << "this processor lacks tile units";
  }
};

/// The plain form in double precision, with its gradient by the chain rule.
TEST_P(FlashAttention, AgreesWithThePlainForm) {
  auto [test, onTiles] = GetParam();
  AttentionShape s = test.shape;
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
  Floats q = draw(rows * s.size), g = draw(rows * s.valueSize);
  Floats k = draw(s.batch * s.keyHeads * s.keys * s.size);
  Floats v = draw(s.batch * s.keyHeads * s.keys * s.valueSize);
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

  // What the compiler plans covers it.
  ingot_attention_desc desc = {};
  desc.size = s.size;
  desc.value_size = s.valueSize;
  ingot::abi::ScratchMachine machine = {getThreadCount()};
  machine.tilesF32 = s.onTiles;
  ASSERT_LE(flashAttentionScratch(s) * getThreadCount(),
            ingot::abi::getScratchBytes(desc, machine));

  Floats out(rows * s.valueSize, NAN), lse(rows, NAN), delta(rows);
  Floats dq(q.size(), NAN), dk(k.size(), NAN), dv(v.size(), NAN);
  Block scratch(flashAttentionScratch(s) * getThreadCount(), "scratch");
  auto in = [](const Floats &x, int64_t rows, int64_t heads, int64_t columns) {
    return view(x.data(), rows, heads, columns);
  };
  auto qv = in(q, s.queries, s.heads, s.size);
  auto kv = in(k, s.keys, s.keyHeads, s.size);
  auto vv = in(v, s.keys, s.keyHeads, s.valueSize);
  auto gv = in(g, s.queries, s.heads, s.valueSize);
  flashAttention(s, qv, kv, vv,
                 view(out.data(), s.queries, s.heads, s.valueSize), lse.data(),
                 scratch.getData());
  flashAttentionGrad(s, qv, kv, vv, in(out, s.queries, s.heads, s.valueSize),
                     lse.data(), gv,
                     view(dq.data(), s.queries, s.heads, s.size),
                     view(dk.data(), s.keys, s.keyHeads, s.size),
                     view(dv.data(), s.keys, s.keyHeads, s.valueSize),
                     delta.data(), scratch.getData());

  std::vector<double> wo(out.size()), wq(q.size()), wk(k.size()), wv(v.size());
  auto offset = [](const auto &view, const auto &x, int64_t b, int64_t h,
                   int64_t r) { return view.at(b, h, r) - x.data(); };
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t h = 0; h < s.heads; ++h)
      for (int64_t i = 0; i < s.queries; ++i) {
        int64_t kh = h / (s.heads / s.keyHeads);
        int64_t qo = offset(qv, q, b, h, i), go = offset(gv, g, b, h, i);
        std::vector<double> p(s.keys), dp(s.keys);
        double top = -INFINITY, total = 0, mean = 0;
        for (int64_t j = 0; j < s.keys; ++j) {
          int64_t ko = offset(kv, k, b, kh, j), vo = offset(vv, v, b, kh, j);
          for (int64_t c = 0; c < s.size; ++c)
            p[j] += double(s.scale) * q[qo + c] * k[ko + c];
          for (int64_t c = 0; c < s.valueSize; ++c)
            dp[j] += double(g[go + c]) * v[vo + c];
          if (s.bias.data)
            p[j] += s.bias.at(b, h, i)[j];
          if ((s.mask.data && !s.mask.at(b, h, i)[j]) ||
              (s.left >= 0 && j < i - s.left) ||
              (s.right >= 0 && j > i + s.right))
            p[j] = -INFINITY;
          top = std::max(top, p[j]);
        }
        for (double &x : p)
          total += x = std::isinf(x) ? 0 : std::exp(x - top);
        for (int64_t j = 0; j < s.keys; ++j)
          mean += (p[j] /= total > 0 ? total : 1) * dp[j];
        double want = total > 0 ? top + std::log(total) : INFINITY;
        float got = lse[(b * s.heads + h) * s.queries + i];
        if (total > 0)
          ASSERT_NEAR(got, want, 1e-5 * (1 + std::abs(want)));
        else
          ASSERT_EQ(got, INFINITY);
        for (int64_t j = 0; j < s.keys; ++j) {
          int64_t ko = offset(kv, k, b, kh, j), vo = offset(vv, v, b, kh, j);
          double ds = p[j] * (dp[j] - mean) * s.scale;
          for (int64_t c = 0; c < s.size; ++c) {
            wq[qo + c] += ds * k[ko + c];
            wk[ko + c] += ds * q[qo + c];
          }
          for (int64_t c = 0; c < s.valueSize; ++c) {
            wo[go + c] += p[j] * v[vo + c];
            wv[vo + c] += p[j] * g[go + c];
          }
        }
      }
  auto compare = [](const char *what, const Floats &got,
                    const std::vector<double> &want) {
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want[i], 1e-5 + 1e-5 * std::abs(want[i]))
          << what << i;
  };
  compare("out ", out, wo);
  compare("dq ", dq, wq);
  compare("dk ", dk, wk);
  compare("dv ", dv, wv);
}

/// With two threads, two heads take the way of all blocks of a head in turn,
/// one head that of blocks of queries and keys apart.
class FlashAttentionGradient : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(, FlashAttentionGradient, testing::Bool(),
                         [](const auto &info) {
                           return info.param ? "OnTiles" : "OnVectors";
                         });
TEST_P(FlashAttentionGradient, HasTheSameBitsInPartsOfAHead) {
  AttentionShape s{2, 1, 1, 150, 150, 20, 20, 0.2f, 100, 0};
  s.onTiles = GetParam();
  if (s.onTiles && !hasTileUnits())
    GTEST_SKIP() << "this processor lacks tile units";
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  int64_t each = s.queries * s.size;
  Floats q(2 * each), k(2 * each), v(2 * each), g(2 * each);
  for (Floats *tensor : {&q, &k, &v, &g})
    for (float &value : *tensor)
      value = normal(random);
  struct Gradients {
    Floats dq, dk, dv;
  };
  Block scratch(flashAttentionScratch(s) * getThreadCount(), "scratch");
  auto differentiate = [&](int64_t first, int64_t count) {
    s.batch = count;
    int64_t size = count * each;
    Floats out(size), lse(count * s.queries), delta(count * s.queries);
    Gradients result{Floats(size), Floats(size), Floats(size)};
    auto in = [&](const Floats &x) {
      return view(x.data() + first * each, s.queries, s.heads, s.size);
    };
    auto to = [&](Floats &x) {
      return view(x.data(), s.queries, s.heads, s.size);
    };
    flashAttention(s, in(q), in(k), in(v), to(out), lse.data(),
                   scratch.getData());
    flashAttentionGrad(
        s, in(q), in(k), in(v),
        view<const float>(out.data(), s.queries, s.heads, s.size), lse.data(),
        in(g), to(result.dq), to(result.dk), to(result.dv), delta.data(),
        scratch.getData());
    return result;
  };
  Gradients both = differentiate(0, 2);
  for (int64_t batch = 0; batch < 2; ++batch) {
    Gradients one = differentiate(batch, 1);
    auto equal = [&](const Floats &x, const Floats &y) {
      return std::equal(x.begin(), x.end(), y.begin() + batch * each);
    };
    EXPECT_TRUE(equal(one.dq, both.dq));
    EXPECT_TRUE(equal(one.dk, both.dk));
    EXPECT_TRUE(equal(one.dv, both.dv));
  }
}

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
            Case{"ragged",
                 {3, 2, 1, 100, 100, 32, 32, 0.2f, -1, 0},
                 true,
                 true}),
        testing::Bool()),
    [](const auto &info) {
      return std::string(std::get<0>(info.param).name) +
             (std::get<1>(info.param) ? "OnTiles" : "");
    });

} // namespace
