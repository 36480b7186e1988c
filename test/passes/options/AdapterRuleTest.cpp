// SPDX-License-Identifier: Apache-2.0

// Values of --adapter: settings, the layers that they select, and what is
// refused.

#include "passes/options/AdapterRule.h"

#include "dialects/ingot/ir/Diagnostics.h"

#include <gtest/gtest.h>

using namespace ingot;

static AdapterRule parse(llvm::StringRef text) {
  return llvm::cantFail(AdapterRule::parse("adapter", text));
}

static std::string findProblem(llvm::StringRef text) {
  auto rule = AdapterRule::parse("adapter", text);
  if (rule)
    return "";
  return takeUserError(rule.takeError()).what;
}

TEST(AdapterRule, HasDefaultsOfPeft) {
  AdapterRule rule = parse("lora@all-linear");
  EXPECT_EQ(rule.rank, 8);
  EXPECT_EQ(rule.alpha, 8);
  EXPECT_EQ(rule.dropout, 0);
  EXPECT_EQ(rule.bias, "none");
  EXPECT_TRUE(rule.isAllLinear());
  EXPECT_EQ(rule.getScale(), 1);
}

TEST(AdapterRule, ReadsSettings) {
  AdapterRule rule =
      parse("rslora:r=16,alpha=32,dropout=0.25,bias=adapters@q,v");
  EXPECT_EQ(rule.rank, 16);
  EXPECT_EQ(rule.dropout, 0.25);
  EXPECT_EQ(rule.bias, "adapters");
  EXPECT_EQ(rule.getScale(), 8);
  EXPECT_EQ(rule.names, (std::vector<std::string>{"q", "v"}));
  EXPECT_EQ(rule.getText(),
            "rslora:r=16,alpha=32,dropout=0.25,bias=adapters@q,v");
}

TEST(AdapterRule, MatchesNamesAtEndsOfPaths) {
  AdapterRule rule = parse("lora@q_proj,1.up");
  EXPECT_TRUE(rule.match("q_proj"));
  EXPECT_TRUE(rule.match("model.layers.0.q_proj"));
  EXPECT_FALSE(rule.match("model.layers.0.seq_proj"));
  EXPECT_FALSE(rule.match("q_proj.more"));
  EXPECT_TRUE(rule.match("layers.1.up"));
  EXPECT_FALSE(rule.match("layers.11.up"));
}

TEST(AdapterRule, MatchesWholePathsByExpressions) {
  AdapterRule rule = parse("lora@/layers\\.[01]\\.(q|v)_proj/");
  EXPECT_TRUE(rule.match("layers.0.v_proj"));
  EXPECT_FALSE(rule.match("model.layers.0.v_proj"));
  EXPECT_FALSE(rule.match("layers.0.v_proj.more"));
  // An alternative is of the whole path, too.
  EXPECT_FALSE(parse("lora@/a|b/").match("ab"));
}

TEST(AdapterRule, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(findProblem("vera@q"), "unknown kind of adapter 'vera'");
  EXPECT_EQ(findProblem("lora:r=0@q"), "r of '0' is no rank");
  EXPECT_EQ(findProblem("lora:r=@q"), "r of '' is no rank");
  EXPECT_EQ(findProblem("lora:alpha=x@q"), "alpha of 'x' is no number");
  EXPECT_EQ(findProblem("lora:alpha=inf@q"), "alpha of 'inf' is no number");
  EXPECT_EQ(findProblem("lora:dropout=1@q"),
            "dropout of '1' is no probability");
  EXPECT_EQ(findProblem("lora:bias=some@q"), "bias of 'some' is unknown");
  EXPECT_EQ(findProblem("lora:rank=2@q"), "unknown setting 'rank=2'");
  EXPECT_EQ(findProblem("lora"), "names no layers");
  EXPECT_EQ(findProblem("lora@q,,v"), "'' is no name of layers");
  EXPECT_NE(findProblem("lora@/(/"), "");
}
