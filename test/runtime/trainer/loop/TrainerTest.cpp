// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Trainers from end to end: a hand-written step (LinearModule.cpp), linked by
// ld.lld alone as ingotc does it, run as a user runs it.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/SafeTensors.h"
#include "runtime/core/Random.h"
#include "runtime/core/libraries/JsonLibrary.h"
#include "test/runtime/TestSupport.h"

#include <csignal>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace ingot::runtime;
using namespace ingot::runtime::test;
using nlohmann::json;

namespace {

struct Result {
  int status = -1;
  std::string out, err;
};

/// Runs a program to its end. `during` is called with its process id.
template <typename During>
Result runProgram(const std::vector<std::string> &command, During during) {
  TemporaryFolder folder;
  std::string out = folder / "out", err = folder / "err";
  std::vector<char *> arguments;
  for (const std::string &argument : command)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t child = fork();
  if (child == 0) {
    if (std::freopen(out.c_str(), "w", stdout) &&
        std::freopen(err.c_str(), "w", stderr))
      execvp(arguments[0], arguments.data());
    _exit(127);
  }
  during(child);
  int status = 0;
  waitpid(child, &status, 0);
  Result result;
  result.status =
      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = readFile(out);
  result.err = readFile(err);
  return result;
}

/// Links `object` as ingotc does, by link-cpu.txt.
Result linkTrainer(const std::string &object, const std::string &trainer) {
  std::vector<std::string> command = {
      INGOT_TEST_LLD,   "-pie",
      "--eh-frame-hdr", "--as-needed",
      "--gc-sections",  "-o",
      trainer,          "--disable-new-dtags",
      "-rpath",         std::string(INGOT_TEST_LINK) + "/libs"};
  std::string folder = std::string(INGOT_TEST_LINK) + "/";
  std::istringstream lines(readFile(folder + "link-cpu.txt"));
  bool hasObject = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#')
      continue;
    std::string kind = line.substr(0, line.find(' '));
    std::string what = line.substr(line.find(' ') + 1);
    if (kind != "entry" && kind != "start" && kind != "emulation" &&
        kind != "loader" && !hasObject) {
      command.push_back(object);
      hasObject = true;
    }
    if (kind == "emulation")
      command.insert(command.end(), {"-m", what});
    else if (kind == "loader")
      command.insert(command.end(), {"-dynamic-linker", what});
    else if (kind == "option")
      command.push_back(what);
    else if (kind == "whole")
      command.insert(command.end(),
                     {"--whole-archive", folder + what, "--no-whole-archive"});
    else if (kind != "transport" && kind != "embed" && kind != "header")
      command.push_back(folder + what);
  }
  return runProgram(command, [](pid_t) {});
}

std::string makeX(int64_t samples) {
  Philox random(1, 1);
  std::vector<float> x(samples * 3);
  for (float &value : x)
    value = static_cast<float>(random.normal());
  return makeNpy(DType::F32, {samples, 3}, x);
}

/// y = x0 + 2 x1 - x2 + 0.5.
std::string makeLabels(const std::string &x) {
  Array array = readNpy(x, "x");
  std::vector<float> y(array.shape[0]);
  for (size_t i = 0; i < y.size(); ++i) {
    float row[3];
    std::memcpy(row, array.data + i * sizeof(row), sizeof(row));
    y[i] = row[0] + 2 * row[1] - row[2] + 0.5f;
  }
  return makeNpy(DType::F32, {array.shape[0], 1}, y);
}

class TrainerTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    folder = new TemporaryFolder;
    for (auto [name, object] : {std::pair{"linear", INGOT_TEST_LINEAR},
                                {"linear-matmul", INGOT_TEST_LINEAR_MATMUL},
                                {"linear-abi", INGOT_TEST_LINEAR_ABI},
                                {"linear-whole", INGOT_TEST_LINEAR_WHOLE}}) {
      Result linked = linkTrainer(object, *folder / name);
      ASSERT_EQ(linked.status, 0) << linked.err;
    }
    std::string x = makeX(30), few = makeX(10);
    writeNpz(*folder / "train.npz",
             {{"x", x}, {"labels", makeLabels(x)}, {"other", x}});
    writeNpz(*folder / "eval.npz", {{"x", few}, {"labels", makeLabels(few)}});
    writeNpz(*folder / "x.npz", {{"x", few}});
  }
  static void TearDownTestSuite() {
    delete folder;
    folder = nullptr;
  }

  Result run(std::vector<std::string> arguments,
             const std::string &trainer = "linear") {
    arguments.insert(arguments.begin(), *folder / trainer);
    return runProgram(arguments, [](pid_t) {});
  }

  static std::vector<json> readLog(const std::string &path) {
    std::vector<json> lines;
    std::istringstream stream(readFile(path));
    for (std::string line; std::getline(stream, line);)
      lines.push_back(json::parse(line));
    return lines;
  }

  /// The lines without their times.
  static std::vector<json> withoutTimes(std::vector<json> lines) {
    for (json &line : lines) {
      line.erase("step_ms");
      line.erase("samples_per_s");
      line.erase("elapsed_s");
      line.erase("stats");
    }
    return lines;
  }

  void expectError(const std::vector<std::string> &arguments, int status,
                   const std::string &part,
                   const std::string &trainer = "linear") {
    Result result = run(arguments, trainer);
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("\nhint: "), std::string::npos) << result.err;
  }

  static TemporaryFolder *folder;
  const std::string train = *folder / "train.npz";
  const std::string eval = *folder / "eval.npz";
};

TemporaryFolder *TrainerTest::folder = nullptr;

TEST_F(TrainerTest, LearnsAndLogs) {
  std::string log = *folder / "log.jsonl";
  Result result = run({"--data", train, "--eval-data", eval, "--epochs", "20",
                       "--schedule", "cosine", "--log", log});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("array 'other' is not an input"),
            std::string::npos);
  EXPECT_NE(result.err.find("leaves out 2 of 30 samples"), std::string::npos);
  EXPECT_EQ(result.err.find('\r'), std::string::npos);
  EXPECT_EQ(result.err.find('\x1b'), std::string::npos);
  std::vector<json> lines = readLog(log);
  ASSERT_EQ(lines.size(), 20 * 7 + 20u);
  int64_t step = 0;
  for (const json &line : lines) {
    if (line.contains("eval_loss")) {
      EXPECT_EQ(line["step"], step);
      EXPECT_TRUE(line.contains("eval_accuracy"));
      continue;
    }
    EXPECT_EQ(line["step"], ++step);
    for (const char *key : {"loss", "lr", "grad_norm", "step_ms",
                            "samples_per_s", "epoch", "elapsed_s"})
      EXPECT_TRUE(line[key].is_number()) << line;
  }
  EXPECT_LT(lines.back()["eval_loss"], 1e-3);
  EXPECT_EQ(lines.back()["eval_accuracy"], 1);
}

TEST_F(TrainerTest, TheSameBitsTwice) {
  std::string one = *folder / "one.jsonl", two = *folder / "two.jsonl";
  for (const std::string &log : {one, two})
    ASSERT_EQ(
        run({"--data", train, "--steps", "25", "--seed", "5", "--log", log})
            .status,
        0);
  EXPECT_EQ(withoutTimes(readLog(one)), withoutTimes(readLog(two)));
}

TEST_F(TrainerTest, NoShuffleFirstLoss) {
  // With the initial weights of the module, on the first four samples.
  // Arrays refer to the bytes they were read from.
  std::string xBytes = makeX(4), yBytes = makeLabels(xBytes);
  Array x = readNpy(xBytes, "x");
  Array y = readNpy(yBytes, "y");
  double expected = 0;
  for (int i = 0; i < 4; ++i) {
    float row[3], label;
    std::memcpy(row, x.data + i * sizeof(row), sizeof(row));
    std::memcpy(&label, y.data + i * sizeof(label), sizeof(label));
    double error =
        0.5 * row[0] - 0.25 * row[1] + 0.125 * row[2] + 0.0625 - label;
    expected += error * error / 4;
  }
  std::string log = *folder / "first.jsonl";
  ASSERT_EQ(run({"--data", train, "--no-shuffle", "--steps", "1", "--log", log})
                .status,
            0);
  EXPECT_NEAR(readLog(log)[0]["loss"].get<double>(), expected, 1e-5);
}

TEST_F(TrainerTest, ExportsTheTrainedValues) {
  std::string path = *folder / "export.onnx";
  ASSERT_EQ(run({"--data", train, "--steps", "0", "--export", path}).status, 0);
  std::string expected = "HEAD";
  float w[] = {0.5f, -0.25f, 0.125f};
  double b = 0.0625;
  expected.append(reinterpret_cast<char *>(w), sizeof(w));
  expected += "|";
  expected.append(reinterpret_cast<char *>(&b), sizeof(b));
  expected += "TAIL";
  EXPECT_EQ(readFile(path), expected);
}

TEST_F(TrainerTest, PredictsEverySample) {
  std::string path = *folder / "predicted.npz";
  Result result = run(
      {"--steps", "0", "--eval-data", *folder / "x.npz", "--predict", path});
  ASSERT_EQ(result.status, 0) << result.err;
  ArrayFile file(path);
  std::string xBytes = makeX(10);
  Array y = file.read("y"), x = readNpy(xBytes, "x");
  ASSERT_EQ(y.shape, (std::vector<int64_t>{10, 1}));
  for (int i = 0; i < 10; ++i) {
    float row[3], value;
    std::memcpy(row, x.data + i * sizeof(row), sizeof(row));
    std::memcpy(&value, y.data + i * sizeof(value), sizeof(value));
    EXPECT_NEAR(value, 0.5 * row[0] - 0.25 * row[1] + 0.125 * row[2] + 0.0625,
                1e-5);
  }
}

TEST_F(TrainerTest, LibraryCallsAgreeWithKernels) {
  std::string one = *folder / "kernel.jsonl", two = *folder / "matmul.jsonl";
  ASSERT_EQ(run({"--data", train, "--steps", "10", "--log", one}).status, 0);
  Result result =
      run({"--data", train, "--steps", "10", "--log", two}, "linear-matmul");
  ASSERT_EQ(result.status, 0) << result.err;
  std::vector<json> a = readLog(one), b = readLog(two);
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i]["loss"].get<double>(), b[i]["loss"].get<double>(), 1e-4);
}

TEST_F(TrainerTest, ResumeIsBitIdentical) {
  std::string whole = *folder / "whole.jsonl", parts = *folder / "parts.jsonl";
  std::string directory = *folder / "checkpoints";
  auto train20 = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"--data", train};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Result result = run(arguments);
    ASSERT_EQ(result.status, 0) << result.err;
  };
  std::string one = *folder / "one.onnx", two = *folder / "two.onnx";
  train20({"--seed", "3", "--steps", "20", "--log", whole, "--export", one});
  train20(
      {"--seed", "3", "--steps", "11", "--log", parts, "--save", directory});
  // The seed comes from the checkpoint.
  train20({"--steps", "20", "--log", parts, "--resume", directory, "--export",
           two});
  EXPECT_EQ(withoutTimes(readLog(whole)), withoutTimes(readLog(parts)));
  EXPECT_EQ(readFile(one), readFile(two));
  // A crash later than the checkpoint: the lines after it are written anew.
  train20({"--steps", "15", "--log", parts, "--resume", directory});
  train20({"--steps", "20", "--log", parts, "--resume", directory});
  EXPECT_EQ(withoutTimes(readLog(whole)), withoutTimes(readLog(parts)));
}

TEST_F(TrainerTest, ResumeWithOtherDataOrOrder) {
  std::string directory = *folder / "other";
  ASSERT_EQ(run({"--data", train, "--steps", "3", "--save", directory}).status,
            0);
  expectError({"--data", eval, "--steps", "5", "--resume", directory}, 3,
              "but the checkpoint's run had 30");
  expectError(
      {"--data", train, "--steps", "5", "--resume", directory, "--seed", "9"},
      2, "--resume");
  expectError({"--data", train, "--steps", "5", "--resume", *folder / "none"},
              3, "holds no checkpoint");
}

TEST_F(TrainerTest, InitFromSafeTensors) {
  std::string path = *folder / "init.safetensors";
  float w[] = {1, 2, -1}, b = 0.5f;
  auto view = [](const void *data, size_t size) {
    return std::string_view(static_cast<const char *>(data), size);
  };
  SafeTensors content;
  content.tensors["w"] = {DType::F32, {3, 1}, view(w, sizeof(w))};
  content.tensors["b"] = {DType::F32, {1}, view(&b, sizeof(b))};
  auto write = [&] {
    AtomicFile file(path);
    writeSafeTensors(file, content);
    file.commit();
  };
  write();
  std::string log = *folder / "init.jsonl";
  Result result =
      run({"--steps", "0", "--eval-data", eval, "--init", path, "--log", log});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_LT(readLog(log)[0]["eval_loss"], 1e-10);
  content.tensors["b"].shape = {1, 1};
  write();
  expectError({"--steps", "0", "--eval-data", eval, "--init", path}, 3,
              "b: shape [1, 1], the model has [1]");
  content.tensors.erase("b");
  write();
  expectError({"--steps", "0", "--eval-data", eval, "--init", path}, 3,
              "no tensor 'b'");
}

/// The names on the track of kernels.
static std::vector<std::string> getKernels(const std::string &path) {
  std::vector<std::string> names;
  json trace = json::parse(readFile(path));
  for (const json &event : trace["traceEvents"])
    if (event["ph"] == "X" && event["tid"] == 0)
      names.push_back(event["name"]);
  return names;
}

TEST_F(TrainerTest, ProfileIsATrace) {
  std::string path = *folder / "trace.json";
  Result result = run({"--data", train, "--steps", "2", "--profile", path});
  ASSERT_EQ(result.status, 0) << result.err;
  // Two kernels and the function itself, twice.
  std::vector<std::string> names = {"fc", "bias", "train_step",
                                    "fc", "bias", "train_step"};
  EXPECT_EQ(getKernels(path), names);
  EXPECT_NE(result.out.find("train_step.fc"), std::string::npos);
  EXPECT_NE(result.out.find("2 steps, "), std::string::npos) << result.out;
}

TEST_F(TrainerTest, ProfileOfSomeSteps) {
  std::string path = *folder / "window.json";
  Result result = run({"--data", train, "--steps", "9", "--profile", path,
                       "--profile-steps", "2:1:1:2"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(getKernels(path).size(), 6u);
  std::string steps;
  json trace = json::parse(readFile(path));
  for (const json &event : trace["traceEvents"])
    if (event.value("cat", "") == "step")
      steps += event["name"].get<std::string>() + " ";
  EXPECT_EQ(steps, "step 4 step 8 ");
  EXPECT_NE(result.out.find("2 steps, "), std::string::npos) << result.out;
  expectError({"--data", train, "--profile", path, "--profile-steps", "1:1"}, 2,
              "--profile-steps: '1:1' is not WAIT:WARMUP:ACTIVE");
  expectError({"--data", train, "--profile-steps", "1:1:1"}, 2, "--profile");
}

TEST_F(TrainerTest, Inspect) {
  Result result = run({"--inspect=json"});
  ASSERT_EQ(result.status, 0) << result.err;
  json plan = json::parse(result.out);
  EXPECT_EQ(plan["peak_bytes"], 832);
  EXPECT_EQ(plan["parameters"][0]["name"], "w");
  EXPECT_EQ(plan["kernels"][0]["onnx_nodes"][0], "/fc/Add");
  EXPECT_NE(run({"--inspect"}).out.find("parameters: 4"), std::string::npos);
}

TEST_F(TrainerTest, ErrorsAndExitCodes) {
  expectError({"--bogus"}, 2, "error: --bogus: unknown option");
  expectError({"--data", *folder / "none.npz"}, 3, "cannot open");
  expectError({"--data", *folder / "x.npz"}, 3, "labels: no such array");
  expectError({"--data", train, "--lr", "1e9", "--steps", "200"}, 1,
              "error: step ");
  expectError({"--data", train, "--export", train + "/x.onnx"}, 1,
              "cannot write");
  expectError({"--inspect"}, 1, "compiled for version 999", "linear-abi");
  setenv("WORLD_SIZE", "2", 1);
  expectError({"--data", train}, 2, "error: WORLD_SIZE: 2 ranks");
  unsetenv("WORLD_SIZE");
}

TEST_F(TrainerTest, FewerSamplesThanABatch) {
  std::string x = makeX(3), path = *folder / "three.npz";
  writeNpz(path, {{"x", x}, {"labels", makeLabels(x)}});
  expectError({"--data", path}, 3, "3 samples, fewer than a batch of 4");
  EXPECT_EQ(run({"--steps", "0", "--eval-data", path}).status, 0);
}

TEST_F(TrainerTest, EvaluatesWholeBatchesWherePaddingCounts) {
  Result result = run({"--steps", "0", "--eval-data", eval}, "linear-whole");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("leaves out the last 2 samples"),
            std::string::npos);
  std::string x = makeX(3), path = *folder / "few.npz";
  writeNpz(path, {{"x", x}, {"labels", makeLabels(x)}});
  expectError({"--steps", "0", "--eval-data", path}, 3,
              "3 samples, fewer than a batch of 4", "linear-whole");
}

TEST_F(TrainerTest, EvaluatesEveryNSteps) {
  std::string log = *folder / "every.jsonl";
  ASSERT_EQ(run({"--data", train, "--eval-data", eval, "--steps", "12",
                 "--eval-every", "5", "--log", log})
                .status,
            0);
  std::vector<int64_t> steps;
  for (const json &line : readLog(log))
    if (line.contains("eval_loss"))
      steps.push_back(line["step"]);
  EXPECT_EQ(steps, (std::vector<int64_t>{5, 10, 12}));
}

TEST_F(TrainerTest, SignalEndsAfterTheStep) {
  std::string directory = *folder / "signalled";
  std::string log = *folder / "signalled.jsonl";
  Result result =
      runProgram({*folder / "linear", "--data", train, "--steps", "1000000000",
                  "--save", directory, "--log", log},
                 [&](pid_t child) {
                   for (int i = 0; i < 500 && readFile(log).empty(); ++i)
                     std::this_thread::sleep_for(std::chrono::milliseconds(10));
                   kill(child, SIGTERM);
                 });
  EXPECT_EQ(result.status, 128 + SIGTERM) << result.err;
  EXPECT_NE(result.err.find("SIGTERM: stopping after step"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(directory + "/latest"));
  // The log is whole lines up to the last step.
  int64_t last = readLog(log).back()["step"];
  EXPECT_TRUE(
      std::filesystem::exists(directory + "/step-" + std::to_string(last)));
}

} // namespace
