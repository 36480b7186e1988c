// SPDX-License-Identifier: Apache-2.0
// Tests that --tune finds the fastest settings, takes nothing for noise, ends
// in time, and reads nothing from a damaged file.

#include "runtime/trainer/tune/Tune.h"
#include "runtime/core/files/TunedFile.h"
#include "runtime/trainer/options/phases/TuneOptions.h"
#include "test/runtime/TestSupport.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <thread>

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {
/// A run whose time depends on its settings; unknown ones fail.
struct FakeRun {
  std::map<std::string, double> times;
  double dataMs = 0;
  std::vector<std::string> measured;

  std::optional<Tuned> tune(const std::vector<TuneAxis> &axes,
                            double seconds = 60, int pauseMs = 0) {
    TuneSearch search(
        [&](const Settings &settings) -> std::optional<StepTimes> {
          std::this_thread::sleep_for(std::chrono::milliseconds(pauseMs));
          std::string name;
          for (const std::string &setting : settings)
            name += (name.empty() ? "" : " ") + setting;
          measured.push_back(name);
          auto found = times.find(name);
          if (found == times.end())
            return std::nullopt;
          auto losses =
              static_cast<uint32_t>(name.find("THREADS") != std::string::npos);
          return StepTimes{10, found->second, dataMs, losses};
        },
        [](const std::string &) {}, std::chrono::duration<double>(seconds));
    return search.find(axes);
  }
};
} // namespace

static const TuneAxis kThreads{false, {"THREADS=2", "THREADS=1"}};
static const TuneAxis kWorkers{true, {"--workers=1", "--workers=2"}};

TEST(Tune, TakesTheFastestOfEachAxis) {
  FakeRun run{{{"", 10},
               {"THREADS=2", 8},
               {"THREADS=1", 6},
               {"THREADS=1 --workers=1", 7},
               {"THREADS=1 --workers=2", 4}},
              /*dataMs=*/5,
              {}};
  std::optional<Tuned> found = run.tune({kThreads, kWorkers});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->settings, (Settings{"THREADS=1", "--workers=2"}));
  EXPECT_EQ(found->beforeMs, 10);
  EXPECT_EQ(found->afterMs, 4);
  EXPECT_FALSE(found->isSame);
  EXPECT_TRUE(found->isComplete);
}

TEST(Tune, KeepsTheRunAsItIsWithinNoise) {
  FakeRun run{{{"", 10}, {"THREADS=2", 9.9}, {"THREADS=1", 12}}, 0, {}};
  std::optional<Tuned> found = run.tune({kThreads});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->settings.empty());
  EXPECT_TRUE(found->isSame);
}

TEST(Tune, MeasuresAgainWhatABusyMomentMadeSlow) {
  // The first measurement of the run as it is was disturbed.
  FakeRun run{{{"", 20}, {"THREADS=2", 10}}, 0, {}};
  TuneSearch search(
      [&](const Settings &settings) -> std::optional<StepTimes> {
        run.measured.push_back(settings.empty() ? "" : settings[0]);
        bool isDisturbed = run.measured.size() == 1;
        return StepTimes{10, isDisturbed ? 20.0 : 10.0, 0, 0};
      },
      [](const std::string &) {}, std::chrono::seconds(60));
  std::optional<Tuned> found = search.find({{false, {"THREADS=2"}}});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->settings.empty());
  EXPECT_EQ(found->beforeMs, 10);
}

TEST(Tune, KeepsNothingThatItsSecondMeasurementContradicts) {
  // A quiet moment made the alternative fast.
  auto tune = [](std::vector<double> times) {
    size_t next = 0;
    TuneSearch search(
        [&](const Settings &) -> std::optional<StepTimes> {
          return StepTimes{10, times.at(next++), 0, 0};
        },
        [](const std::string &) {}, std::chrono::seconds(60));
    return search.find({{false, {"THREADS=1"}}});
  };
  std::optional<Tuned> found = tune({335.7, 252.9, 340, 375.5});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->settings.empty());
  EXPECT_EQ(found->beforeMs, 335.7);
  // The run as it is was as fast the second time.
  EXPECT_TRUE(tune({335.7, 252.9, 255, 250})->settings.empty());
  // What is told is the gain that both measurements have.
  found = tune({335.7, 252.9, 330, 260});
  EXPECT_EQ(found->settings, Settings{"THREADS=1"});
  EXPECT_EQ(found->beforeMs, 330);
  EXPECT_EQ(found->afterMs, 260);
}

TEST(Tune, LeavesDataAloneWhereNoStepWaitsForIt) {
  FakeRun run{{{"", 10}, {"--workers=1", 1}, {"--workers=2", 1}}, 0.1, {}};
  std::optional<Tuned> found = run.tune({kWorkers});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->settings.empty());
  EXPECT_EQ(run.measured.size(), 1U);
}

TEST(Tune, GoesOnAfterSettingsThatFail) {
  FakeRun run{{{"", 10}, {"THREADS=1", 5}}, 0, {}};
  std::optional<Tuned> found = run.tune({kThreads});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->settings, Settings{"THREADS=1"});
  FakeRun none;
  EXPECT_FALSE(none.tune({kThreads}));
}

TEST(Tune, EndsInTime) {
  FakeRun run;
  TuneAxis many;
  for (int i = 0; i < 100; ++i) {
    many.alternatives.push_back("THREADS=" + std::to_string(i));
    run.times[many.alternatives.back()] = 5 + i;
  }
  run.times[""] = 10;
  auto begin = std::chrono::steady_clock::now();
  std::optional<Tuned> found = run.tune({many}, /*seconds=*/0.5, 50);
  std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->isComplete);
  EXPECT_EQ(found->settings, Settings{"THREADS=0"});
  EXPECT_LT(run.measured.size(), 12U);
  // Threads of other tests may take turns with this one.
  EXPECT_LT(passed.count(), 3);
}

TEST(Tune, ReadsWhatItKeeps) {
  Tuned tuned{{"OMP_NUM_THREADS=1", "--workers=2"}, 10.5, 8.25, false, true};
  std::optional<Tuned> read = parseTuned(formatTuned(tuned));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->settings, tuned.settings);
  EXPECT_EQ(read->beforeMs, 10.5);
  EXPECT_EQ(read->afterMs, 8.25);
  EXPECT_FALSE(read->isSame);
  for (const char *damaged :
       {"", "1", "1 2", "a b c", "1 2 1 LD_PRELOAD=x", "1 2 1 --export=x",
        "1 2 1 OMP_NUM_THREADS=", "1 2 1 workers"})
    EXPECT_FALSE(parseTuned(damaged)) << damaged;
}

TEST(Tune, ReadsTimes) {
  EXPECT_FALSE(parseStepTimes(""));
  EXPECT_FALSE(parseStepTimes("error"));
  EXPECT_FALSE(parseStepTimes(R"({"steps": 0, "step_ms": 0})"));
  StepTimes times{7, 2.5, 0.5, 123};
  std::optional<StepTimes> read = parseStepTimes(formatStepTimes(times));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->steps, 7);
  EXPECT_EQ(read->stepMs, 2.5);
  EXPECT_EQ(read->dataMs, 0.5);
  EXPECT_EQ(read->losses, 123U);
  EXPECT_EQ(parseMeasuring("measure:2.5"), 2.5);
  EXPECT_EQ(parseMeasuring("measure:x"), 0);
  EXPECT_EQ(parseMeasuring("measure:-1"), 0);
  EXPECT_FALSE(parseMeasuring("cache"));
}

TEST(TunedFile, KeepsChoicesByMachine) {
  TemporaryFolder folder;
  std::string path = folder / "tuned.txt";
  TunedFile one("one\tmachine", path), other("other", path);
  one.keep("key", "first");
  other.keep("key", "second");
  EXPECT_EQ(one.takeProblem(), "");
  TunedFile again("one machine", path);
  EXPECT_EQ(again.find("key"), "first");
  EXPECT_FALSE(again.find("another"));
  EXPECT_EQ(TunedFile("other", path).find("key"), "second");
  // What others have chosen since stays.
  one.keep("key", "third");
  again.keep("another", "fourth");
  EXPECT_EQ(TunedFile("one machine", path).find("key"), "third");
  // A file of something else is not read.
  std::ofstream(path) << "one machine\tkey\tfirst\n";
  EXPECT_FALSE(TunedFile("one machine", path).find("key"));
}
