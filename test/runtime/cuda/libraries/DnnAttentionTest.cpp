// SPDX-License-Identifier: Apache-2.0

// What cuDNN, if it is installed, says of our descriptions of attention: it
// chooses kernels for a GPU that is described, not there.

#include "runtime/cuda/libraries/DnnAttention.h"
#include "runtime/core/Error.h"
#include "test/runtime/cuda/libraries/DescribedGpus.h"
#include "gtest/gtest.h"

#include <ostream>

using namespace ingot::runtime;
using namespace ingot::testing;

namespace {

struct Case {
  const char *name;
  int64_t batch, heads, keyHeads, queries, size, left, right;
  int32_t type;

  friend void PrintTo(const Case &of, std::ostream *out) { *out << of.name; }
};

/// With `isPacked`, queries, keys and values lie side by side, as one product
/// leaves them, and so do their gradients; else in a tensor each.
ingot_attention_desc describe(const Case &of, bool isPacked) {
  ingot_attention_desc desc = {};
  desc.batch = of.batch;
  desc.heads = of.heads;
  desc.key_heads = of.keyHeads;
  desc.queries = desc.keys = of.queries;
  desc.size = desc.value_size = of.size;
  desc.left = of.left;
  desc.right = of.right;
  desc.scale = 0.125;
  desc.type = of.type;
  auto lay = [&](int64_t (&strides)[3], int64_t row) {
    strides[0] = of.queries * row;
    strides[1] = row;
    strides[2] = of.size;
  };
  int64_t row = (of.heads + 2 * of.keyHeads) * of.size;
  int64_t keyRow = isPacked ? row : of.keyHeads * of.size;
  lay(desc.query_strides, isPacked ? row : of.heads * of.size);
  lay(desc.key_strides, keyRow);
  lay(desc.value_strides, keyRow);
  lay(desc.result_strides, of.heads * of.size);
  return desc;
}

/// A bias of keys alone, as of a padding mask, or of pairs of each head.
enum class Bias { None, Keys, Pairs };

void addBias(ingot_attention_desc &desc, Bias bias) {
  desc.bias_strides[0] = bias == Bias::Keys ? desc.keys : 0;
  desc.bias_strides[1] = bias == Bias::Pairs ? desc.queries * desc.keys : 0;
  desc.bias_strides[2] = bias == Bias::Pairs ? desc.keys : 0;
}

class DnnAttentionPlans : public ::testing::TestWithParam<Case> {};

TEST_P(DnnAttentionPlans, HaveKernels) {
  std::optional<Library> cudnn = findDnn();
  if (!cudnn)
    GTEST_SKIP() << "cuDNN is not installed";
  for (bool isHopper : {true, false})
    for (bool isGradient : {false, true})
      for (bool isPacked : {false, true})
        for (Bias bias : {Bias::None, Bias::Keys, Bias::Pairs})
          for (bool lengths : {false, true})
            for (bool dropout : {false, true}) {
              SCOPED_TRACE(std::string(isHopper ? "sm_90" : "sm_80") +
                           (isGradient ? ", gradient" : "") +
                           (isPacked ? ", packed" : "") +
                           (bias == Bias::Keys    ? ", bias of keys"
                            : bias == Bias::Pairs ? ", bias of pairs"
                                                  : "") +
                           (lengths ? ", lengths" : "") +
                           (dropout ? ", dropout" : ""));
              ingot_attention_desc desc = describe(GetParam(), isPacked);
              addBias(desc, bias);
              desc.ratio = dropout ? 0.1 : 0;
              EXPECT_EQ(findAttentionProblem(
                            *cudnn, desc,
                            {bias != Bias::None, lengths, dropout}, isGradient,
                            describeGpu(isHopper), isHopper ? 90 : 80),
                        "");
            }
}

INSTANTIATE_TEST_SUITE_P(
    , DnnAttentionPlans,
    ::testing::Values(Case{"gpt2", 8, 12, 12, 1024, 64, -1, 0, INGOT_BF16},
                      Case{"gpt2_fp16", 8, 12, 12, 1024, 64, -1, 0, INGOT_F16},
                      Case{"mini", 8, 6, 6, 256, 64, -1, 0, INGOT_BF16},
                      Case{"full", 2, 4, 4, 200, 32, -1, -1, INGOT_BF16},
                      Case{"grouped", 2, 32, 8, 2048, 128, -1, 0, INGOT_BF16},
                      Case{"window", 1, 8, 8, 4096, 64, 511, 0, INGOT_BF16}),
    [](const auto &info) { return info.param.name; });

TEST(DnnAttention, SaysWhatIsNotTaken) {
  std::optional<Library> cudnn = findDnn();
  if (!cudnn)
    GTEST_SKIP() << "cuDNN is not installed";
  Case odd = {"odd", 2, 4, 4, 256, 60, -1, 0, INGOT_BF16};
  EXPECT_NE(findAttentionProblem(*cudnn, describe(odd, /*isPacked=*/true),
                                 /*terms=*/{}, /*isGradient=*/false,
                                 describeGpu(true), 90),
            "");
}

} // namespace
