// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// A plan that is wrong in known ways.
//===----------------------------------------------------------------------===//

#include "runtime/observe/MemoryCheck.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace ingot::runtime;

namespace {

/// Two kernels: `first` writes bytes 64 to 80 from the input at 0, `second`
/// reads them and writes the output at 128.
struct MemoryCheckTest : testing::Test {
  MemoryCheckTest() {
    FunctionSpec &function = manifest.functions.emplace_back();
    function.arenaBytes = sizeof(arena);
    InputSpec input;
    input.dtype = DType::F32;
    input.shape = {4};
    function.inputs.push_back(input);
    function.kernels.resize(2);
    function.kernels[0].name = "first";
    function.kernels[1].name = "second";
    function.intervals = {{0, 16, 0, 2}, {64, 16, 0, 1}, {128, 16, 1, 2}};
    check.start(function);
  }
  float &at(int64_t byte) { return *reinterpret_cast<float *>(arena + byte); }

  alignas(64) char arena[192] = {};
  Manifest manifest;
  MemoryCheck check{manifest, arena};
};

TEST_F(MemoryCheckTest, RightPlan) {
  EXPECT_EQ(at(0), 0) << "the input is gone";
  at(64) = 1;
  check.called(0, 0);
  EXPECT_EQ(at(64), 1);
  at(128) = 2;
  check.called(0, 1);
  EXPECT_FALSE(check.getProblem());
  EXPECT_EQ(at(128), 2);
  EXPECT_TRUE(std::isnan(at(64)))
      << "what nothing reads any more is still there";
}

TEST_F(MemoryCheckTest, WriteBeyondTheEnd) {
  std::memset(arena + 64, 0, 17);
  check.called(0, 0);
  ASSERT_TRUE(check.getProblem());
  EXPECT_NE(check.getProblem()->find("kernel 0, first, wrote to byte 80"),
            std::string::npos);
}

TEST_F(MemoryCheckTest, WriteToWhatIsNotThereYet) {
  at(64) = 1;
  at(128) = 1;
  check.called(0, 0);
  EXPECT_TRUE(check.getProblem());
}

TEST_F(MemoryCheckTest, LifetimeThatEndsTooEarly) {
  manifest.functions[0].intervals[1].last = 0;
  at(64) = 1;
  check.called(0, 0);
  EXPECT_TRUE(std::isnan(at(64))) << "the second kernel would read a number";
}

} // namespace
