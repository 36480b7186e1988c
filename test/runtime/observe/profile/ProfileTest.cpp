// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Profiles of runs whose times are known.
//===----------------------------------------------------------------------===//

#include "runtime/observe/profile/Profile.h"
#include "runtime/core/libraries/JsonLibrary.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace ingot::runtime;
using nlohmann::json;
using Phase = ProfileSchedule::Phase;
using std::chrono::microseconds;

namespace {

TEST(ProfileSchedule, Windows) {
  auto schedule = ProfileSchedule::parse("2:1:3");
  ASSERT_TRUE(schedule);
  std::string phases;
  for (int64_t step = 0; step < 8; ++step)
    phases += "-wA"[static_cast<int>(schedule->getPhase(step))];
  EXPECT_EQ(phases, "--wAAA--");
  schedule = ProfileSchedule::parse("1:0:1:2");
  ASSERT_TRUE(schedule);
  phases.clear();
  for (int64_t step = 0; step < 6; ++step)
    phases += "-wA"[static_cast<int>(schedule->getPhase(step))];
  EXPECT_EQ(phases, "-A-A--");
  EXPECT_EQ(ProfileSchedule().getPhase(1000000), Phase::Active);
}

TEST(ProfileSchedule, RefusesOtherText) {
  for (const char *text :
       {"", "1", "1:2", "1:2:0", "1:2:3:0", "1:2:3:4:5", "-1:0:1", "a:0:1",
        "1:0:1x", "1::1", "1:0:99999999999999"})
    EXPECT_FALSE(ProfileSchedule::parse(text)) << text;
}

/// A step of two kernels, of 10 and 30 µs, in a function of 50 µs.
struct ProfileTest : testing::Test {
  ProfileTest() {
    manifest.model = "model.onnx";
    FunctionSpec &function = manifest.functions.emplace_back();
    function.name = "train_step";
    KernelSpec first;
    first.name = "fc (matmul)";
    first.kind = "matmul";
    first.part = "forward";
    first.bytes = 100;
    first.flops = 2000;
    first.boundMicroseconds = 5;
    KernelSpec second = first;
    second.name = "bucket 0 (collective)";
    second.kind = "collective";
    second.part = "communication";
    second.onnxNodes = {"bucket 0"};
    function.kernels = {first, second};
    function.intervals = {{0, 1 << 20, 0, 0}, {1 << 20, 1 << 20, 0, 1}};
  }

  void runStep(Profiler &profiler, int64_t number) {
    profiler.startStep();
    profiler.addData({now, now + microseconds(5)});
    if (context.profiling) {
      context.events.push_back(
          {0, 0, now + microseconds(6), now + microseconds(16)});
      context.events.push_back(
          {0, 1, now + microseconds(20), now + microseconds(50)});
      context.events.push_back(
          {0, -1, now + microseconds(5), now + microseconds(55)});
    }
    profiler.endStep(number);
    now += microseconds(100);
  }

  Manifest manifest;
  ingot_context context;
  std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now();
};

TEST_F(ProfileTest, KeepsActiveSteps) {
  Profiler profiler(context, *ProfileSchedule::parse("1:2:2"));
  for (int64_t number = 1; number <= 7; ++number)
    runStep(profiler, number);
  Profile profile = profiler.take();
  EXPECT_EQ(profile.events.size(), 6u) << "the warm-up is in the profile";
  ASSERT_EQ(profile.steps.size(), 2u);
  EXPECT_EQ(profile.steps[0].number, 4);
  EXPECT_EQ(profile.steps[1].number, 5);
  EXPECT_FALSE(context.profiling);
}

TEST_F(ProfileTest, AnUnfinishedWarmUpLeavesNothing) {
  Profiler profiler(context, *ProfileSchedule::parse("0:5:1"));
  runStep(profiler, 1);
  EXPECT_TRUE(profiler.take().events.empty());
}

TEST_F(ProfileTest, TableHasPartsAndKernels) {
  Profile profile;
  Profiler profiler(context, {});
  for (int64_t number = 1; number <= 4; ++number)
    runStep(profiler, number);
  profile = profiler.take();
  for (size_t i = 0; i < profile.steps.size(); ++i)
    profile.steps[i].time = {now, now + microseconds(100)};
  std::string table = makeProfileTable(manifest, profile);
  auto has = [&](const char *text) {
    EXPECT_NE(table.find(text), std::string::npos) << text << "\n" << table;
  };
  has("4 steps, 0.100 ms each (P50 0.100, P90 0.100, P99 0.100)");
  has("forward                 0.010  10.0%        1       0.00       0.00     "
      " "
      "50%");
  has("communication           0.030  30.0%");
  has("between kernels         0.010  10.0%");
  has("waits for data          0.005   5.0%");
  has("rest of the step        0.045  45.0%");
  has("train_step.fc (matmul)");
  // Of 200 µs in the function, 40 are in no kernel.
  has("      0.04       0.20  20.0%       4      50.0");
}

TEST_F(ProfileTest, TraceHasTracksFlowsAndCounters) {
  Profiler profiler(context, {});
  auto asked = now + microseconds(7);
  runStep(profiler, 1);
  Profile profile = profiler.take();
  profile.steps[0].time = {now - microseconds(100), now};
  CommunicationEvent event;
  event.what = "all-reduce of bucket 0";
  event.step = 1;
  event.bytes = 64;
  event.asked = asked;
  event.begin = asked + microseconds(1);
  event.end = asked + microseconds(20);
  CommunicationEvent other = event;
  other.step = 2;
  std::string path = (std::filesystem::temp_directory_path() /
                      ("ingot-trace-" + std::to_string(getpid())))
                         .string();
  writeTrace(path, manifest, {"a device", "a clock"}, profile, {event, other});
  json events = json::parse(std::ifstream(path))["traceEvents"];
  std::filesystem::remove(path);
  std::map<std::string, int> tracks, phases, names;
  for (const json &item : events) {
    ++phases[item["ph"].get<std::string>()];
    ++names[item["name"].get<std::string>()];
    if (item["name"] == "thread_name")
      tracks[item["args"]["name"]] = item["tid"];
  }
  EXPECT_EQ(tracks, (std::map<std::string, int>{{"kernels", 0},
                                                {"steps", 1},
                                                {"waits for data", 2},
                                                {"collectives", 5}}));
  EXPECT_EQ(names["all-reduce of bucket 0"], 1) << "of a step not profiled";
  EXPECT_EQ(names["step 1"], 1);
  // The batch, and the collective from its start to its wait.
  EXPECT_EQ(phases["s"], 2);
  EXPECT_EQ(phases["t"], 1);
  EXPECT_EQ(phases["f"], 2);
  std::vector<double> use;
  for (const json &item : events)
    if (item["name"] == "arena in use")
      use.push_back(item["args"]["MiB"]);
  EXPECT_EQ(use, (std::vector<double>{2, 1}));
}

} // namespace
