// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Sessions of a library in several threads, also under ThreadSanitizer (preset
// tsan): each computes what it computes alone, and two threads in one session
// are told so.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/files/ScratchFolder.h"
#include "runtime/embed/LibraryFunctions.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace {

/// The model of LinearModule.cpp: four samples of three features.
struct Batch {
  float x[12], labels[4];

  explicit Batch(int number) {
    for (int i = 0; i < 12; ++i)
      x[i] = static_cast<float>((number * 7 + i * 5) % 11) / 8 - 0.5f;
    for (int i = 0; i < 4; ++i)
      labels[i] = x[3 * i] - x[3 * i + 2];
  }
  void point(ingot_input *inputs) const {
    inputs[0] = {x, sizeof(x)};
    inputs[1] = {labels, sizeof(labels)};
  }
};

std::string describe(ingot_status status) {
  return status == INGOT_OK ? "" : ingot_last_error();
}

#define EXPECT_DONE(CALL) EXPECT_EQ(describe(CALL), "")

/// A session with two threads.
ingot_session *open() {
  ingot_options options = ingot_default_options();
  options.threads = 2;
  ingot_session *session = nullptr;
  EXPECT_DONE(ingot_open(ingot_get_model(), &options, &session));
  return session;
}

/// Everything that a session computes, with a checkpoint in the middle.
std::vector<double> train(const std::string &folder, int first) {
  std::vector<double> seen;
  ingot_session *session = open();
  for (int i = 0; i < 40; ++i) {
    ingot_input inputs[2];
    Batch batch(first + i);
    batch.point(inputs);
    double results[3] = {};
    EXPECT_DONE(ingot_step(session, inputs, 2, results, 2));
    seen.insert(seen.end(), {results[0], results[1]});
    EXPECT_DONE(ingot_evaluate(session, inputs, 2, 4, results, 3));
    seen.insert(seen.end(), results, results + 3);
    float y[4] = {};
    ingot_output output = {y, sizeof(y)};
    EXPECT_DONE(ingot_predict(session, inputs, 1, 4, &output, 1));
    seen.insert(seen.end(), y, y + 4);
    EXPECT_DONE(ingot_set_hyperparameter(session, "lr", 0.05 / (1 + i)));
    if (i == 20) {
      EXPECT_DONE(ingot_save(session, folder.c_str(), 0));
      EXPECT_DONE(ingot_close(session));
      session = open();
      EXPECT_DONE(ingot_resume(session, folder.c_str()));
    }
  }
  EXPECT_DONE(ingot_export(session, (folder + "/model.onnx").c_str()));
  EXPECT_DONE(ingot_close(session));
  return seen;
}

TEST(Sessions, InThreadsComputeWhatTheyDoAlone) {
  ingot::runtime::ScratchFolder scratch(
      std::filesystem::temp_directory_path().string() + "/ingot-sessions-");
  constexpr int count = 4;
  std::vector<double> alone[count], together[count];
  auto run = [&](std::vector<double> &seen, int i, const char *kind) {
    std::string folder = scratch.getPath() + "/" + kind + std::to_string(i);
    seen = train(folder, 10 * i);
  };
  for (int i = 0; i < count; ++i)
    run(alone[i], i, "alone");
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] { run(together[i], i, "together"); });
  for (std::thread &thread : threads)
    thread.join();
  for (int i = 0; i < count; ++i)
    EXPECT_EQ(together[i], alone[i]);
  EXPECT_NE(alone[0], alone[1]);
}

TEST(Sessions, OfOneAreUsedByOneThreadAtATime) {
  ingot_session *session = open();
  std::atomic<int> steps = 0, refused = 0;
  auto use = [&] {
    Batch batch(1);
    for (int i = 0; i < 20000 && (i < 200 || refused == 0); ++i) {
      ingot_input inputs[2];
      batch.point(inputs);
      ingot_status status = ingot_step(session, inputs, 2, nullptr, 0);
      if (status == INGOT_OK) {
        ++steps;
        continue;
      }
      EXPECT_EQ(status, INGOT_USAGE);
      EXPECT_NE(std::strstr(ingot_last_error(), "another thread"), nullptr);
      ++refused;
    }
  };
  std::thread first(use), second(use);
  first.join();
  second.join();
  EXPECT_GT(refused, 0);
  ingot_statistics statistics = {sizeof(statistics), 0, 0, 0, 0, 0};
  EXPECT_DONE(ingot_get_statistics(session, &statistics));
  EXPECT_EQ(statistics.steps, steps);
  EXPECT_DONE(ingot_close(session));
}

TEST(Sessions, AreOpenedAndClosedInThreads) {
  // Some close the last one, which ends the helpers that others start.
  auto use = [] {
    for (int i = 0; i < 50; ++i) {
      ingot_session *session = open();
      ingot_input inputs[2];
      Batch batch(i);
      batch.point(inputs);
      double loss = 0;
      EXPECT_DONE(ingot_step(session, inputs, 2, &loss, 1));
      EXPECT_DONE(ingot_close(session));
      EXPECT_EQ(ingot_step(session, inputs, 2, &loss, 1), INGOT_USAGE);
    }
  };
  std::thread threads[3];
  for (std::thread &thread : threads)
    thread = std::thread(use);
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Sessions, AreClosedByOneOfTheThreadsThatUseThem) {
  for (int i = 0; i < 100; ++i) {
    ingot_session *session = open();
    std::atomic<int> closed = 0;
    auto use = [&] {
      Batch batch(2);
      ingot_input inputs[2];
      batch.point(inputs);
      for (int k = 0; k < 3; ++k)
        ingot_step(session, inputs, 2, nullptr, 0);
      // Refused while the other thread is inside, and when it has closed it.
      while (closed == 0)
        if (ingot_close(session) == INGOT_OK)
          ++closed;
    };
    std::thread first(use), second(use);
    first.join();
    second.join();
    EXPECT_EQ(closed, 1);
  }
}

} // namespace
