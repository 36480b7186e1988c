// SPDX-License-Identifier: Apache-2.0

// Values of --base: settings, the weights that they select, and what is
// refused.

#include "passes/options/BaseRule.h"

#include "dialects/ingot/ir/Diagnostics.h"

#include <gtest/gtest.h>

using namespace ingot;

static BaseRule parse(llvm::StringRef text) {
  return llvm::cantFail(BaseRule::parse("base", text));
}

static std::string findProblem(llvm::StringRef text) {
  auto rule = BaseRule::parse("base", text);
  return rule ? "" : takeUserError(rule.takeError()).what;
}

TEST(BaseRule, HasDefaults) {
  BaseRule rule = parse("nf4");
  EXPECT_EQ(rule.kind, "nf4");
  EXPECT_EQ(rule.block, 64);
  EXPECT_FALSE(rule.isDouble);
  EXPECT_TRUE(rule.match("any"));
}

TEST(BaseRule, ReadsSettingsAndNames) {
  BaseRule rule = parse("fp4:block=128,double@layers\\.[01]\\.");
  EXPECT_EQ(rule.block, 128);
  EXPECT_TRUE(rule.isDouble);
  EXPECT_TRUE(rule.match("model.layers.1.up"));
  EXPECT_FALSE(rule.match("model.layers.2.up"));
  EXPECT_EQ(rule.getText(), "fp4:block=128,double@layers\\.[01]\\.");
}

TEST(BaseRule, RefusesWhatThereIsNot) {
  EXPECT_EQ(findProblem("nf5"), "unknown encoding 'nf5'");
  EXPECT_EQ(findProblem("nf4:block=48"), "block of '48' is no size of blocks");
  EXPECT_EQ(findProblem("nf4:blocks=64"), "unknown setting 'blocks=64'");
  EXPECT_EQ(findProblem("int8:double"), "scales of int8 are not encoded");
}
