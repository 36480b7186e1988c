// SPDX-License-Identifier: Apache-2.0

// Values of --distill: settings, pairs of names, and what is refused.

#include "passes/options/DistillRule.h"

#include "dialects/ingot/ir/Diagnostics.h"

#include <gtest/gtest.h>

using namespace ingot;

static DistillRule parse(llvm::StringRef text) {
  return llvm::cantFail(DistillRule::parse("distill", text));
}

static std::string findProblem(llvm::StringRef text) {
  auto rule = DistillRule::parse("distill", text);
  return rule ? "" : takeUserError(rule.takeError()).what;
}

TEST(DistillRule, ReadsSettings) {
  DistillRule rule = parse("temperature=2.5,alpha=0.25,pairs=a:b,"
                           "pairs=/c/Add_output_0:d,pair-weight=3,"
                           "precision=int8");
  EXPECT_EQ(rule.temperature, 2.5);
  EXPECT_EQ(rule.alpha, 0.25);
  EXPECT_EQ(rule.pairWeight, 3);
  ASSERT_EQ(rule.pairs.size(), 2U);
  EXPECT_EQ(rule.pairs[1].first, "/c/Add_output_0");
  EXPECT_EQ(rule.pairs[1].second, "d");
  EXPECT_TRUE(rule.isEncoded());
  EXPECT_FALSE(rule.isLow());
  EXPECT_TRUE(parse("precision=fp16").isLow());
}

TEST(DistillRule, HasDefaults) {
  DistillRule rule = parse("alpha=0.1");
  EXPECT_EQ(rule.temperature, 4);
  EXPECT_TRUE(rule.pairs.empty());
  EXPECT_FALSE(rule.empty());
  EXPECT_TRUE(DistillRule().empty());
  EXPECT_EQ(parse(DistillRule::kDefault).alpha, 0.5);
}

TEST(DistillRule, NamesMayHaveColons) {
  DistillRule rule = parse("pairs=a:0:b:0");
  EXPECT_EQ(rule.pairs[0].first, "a:0");
  EXPECT_EQ(rule.pairs[0].second, "b:0");
}

TEST(DistillRule, RefusesOthers) {
  for (llvm::StringRef text :
       {"temperature=0", "temperature=x", "temperature=inf", "alpha=-1",
        "alpha=1.5", "alpha", "pairs=a", "pairs=a:", "pairs=:b", "pairs=a:b:c",
        "pair-weight=-1", "precision=fp8", "heat=1", "alpha=0"})
    EXPECT_NE(findProblem(text), "") << text.str();
}
