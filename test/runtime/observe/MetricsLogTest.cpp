// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The log of a run: a bound on its size.
//
//===----------------------------------------------------------------------===//

#include "runtime/observe/MetricsLog.h"
#include "test/runtime/TestSupport.h"

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {

constexpr int64_t kMost = 1000;

void writeSteps(MetricsLog &log, int64_t first, int64_t last) {
  for (int64_t step = first; step <= last; ++step)
    log.write(EvalMetrics{step, {{"eval_loss", 0.5}}});
}

/// The steps of the lines of a log and of the one before it.
std::vector<int64_t> readSteps(const std::string &path) {
  std::vector<int64_t> steps;
  std::string text = readFile(path + ".1") + readFile(path);
  for (size_t at = text.find("\"step\": "); at != std::string::npos;
       at = text.find("\"step\": ", at + 1))
    steps.push_back(std::stoll(text.substr(at + 8)));
  return steps;
}

TEST(MetricsLogTest, BeginsAnewAtItsBound) {
  TemporaryFolder folder;
  std::string path = folder / "log.jsonl";
  {
    MetricsLog log(path, std::nullopt, kMost);
    writeSteps(log, 1, 100);
  }
  for (const char *suffix : {"", ".1"})
    EXPECT_LT(readFile(path + suffix).size(), size_t(kMost + 100));
  std::vector<int64_t> steps = readSteps(path);
  ASSERT_GT(steps.size(), 20u);
  for (size_t i = 0; i < steps.size(); ++i)
    EXPECT_EQ(steps[i], int64_t(100 - steps.size() + 1 + i));
  int64_t first = steps.front();

  // A run that is resumed takes later steps again, in both files.
  {
    MetricsLog log(path, first + 3, kMost);
    writeSteps(log, first + 4, first + 6);
    log.cutAfter(first + 5);
    writeSteps(log, first + 6, first + 7);
  }
  std::vector<int64_t> expected;
  for (int64_t step = first; step <= first + 7; ++step)
    expected.push_back(step);
  EXPECT_EQ(readSteps(path), expected);

  // A new run leaves nothing of the one before.
  MetricsLog log(path, std::nullopt, kMost);
  writeSteps(log, 1, 2);
  EXPECT_EQ(readSteps(path), (std::vector<int64_t>{1, 2}));
}

TEST(MetricsLogTest, HasNoBoundUnlessAsked) {
  TemporaryFolder folder;
  std::string path = folder / "log.jsonl";
  MetricsLog log(path, std::nullopt);
  writeSteps(log, 1, 100);
  EXPECT_FALSE(std::filesystem::exists(path + ".1"));
  EXPECT_EQ(readSteps(path).size(), 100u);
}

TEST(MetricsLogTest, WritesTablesByRows) {
  TemporaryFolder folder;
  std::string path = folder / "log.jsonl";
  MetricsLog log(path, std::nullopt);
  log.write(EvalMetrics{1, {}, {{"eval_confusion", {1, 2, 3, 4}}}});
  EXPECT_NE(readFile(path).find("\"eval_confusion\": [[1, 2], [3, 4]]"),
            std::string::npos)
      << readFile(path);
}

} // namespace
