// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The trainer's command line.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/options/TrainerOptions.h"
#include "test/runtime/TestSupport.h"

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {

class OptionsTest : public testing::Test {
protected:
  OptionsTest() {
    manifest.model = "m.onnx";
    manifest.producer = "ingotc 1.2.3";
    manifest.optimizer = "sgd";
    manifest.batch = 4;
    manifest.hyperparameters = {{"lr", 0.001}, {"weight_decay", 0.01}};
  }

  ParsedOptions parse(std::vector<const char *> arguments) {
    arguments.insert(arguments.begin(), "trainer");
    return parseOptions(static_cast<int>(arguments.size()), arguments.data(),
                        manifest);
  }
  void expectUsageError(const std::vector<const char *> &arguments,
                        const std::string &part) {
    EXPECT_INGOT_ERROR(ExitCode::Usage, part, parse(arguments));
  }

  Manifest manifest;
};

TEST_F(OptionsTest, Defaults) {
  Options options = *parse({"--data", "d.npz"}).options;
  EXPECT_EQ(options.data, std::vector<std::string>{"d.npz"});
  EXPECT_FALSE(options.epochs);
  EXPECT_FALSE(options.steps);
  EXPECT_EQ(options.hyperparameters["lr"], 0.001);
  EXPECT_EQ(options.schedule, ScheduleKind::Constant);
}

TEST_F(OptionsTest, EveryOption) {
  Options options = *parse({"--data",
                            "a.npz",
                            "b.npz",
                            "--eval-data",
                            "e.npz",
                            "--steps",
                            "7",
                            "--lr",
                            "0.5",
                            "--seed",
                            "3",
                            "--weight-decay=0",
                            "--schedule",
                            "linear",
                            "--warmup",
                            "2",
                            "--no-shuffle",
                            "--log",
                            "l",
                            "--save",
                            "s",
                            "--save-every",
                            "2",
                            "--resume",
                            "r",
                            "--export",
                            "o",
                            "--predict",
                            "p",
                            "--profile",
                            "t",
                            "--eval-every",
                            "9"})
                         .options;
  EXPECT_EQ(options.data.size(), 2u);
  EXPECT_EQ(options.steps, 7);
  EXPECT_EQ(options.hyperparameters["lr"], 0.5);
  EXPECT_EQ(options.hyperparameters["weight_decay"], 0);
  EXPECT_EQ(options.schedule, ScheduleKind::Linear);
  EXPECT_EQ(options.warmup, 2);
  EXPECT_TRUE(options.noShuffle);
  EXPECT_EQ(options.saveEvery, 2);
  EXPECT_EQ(options.evalEvery, 9);
}

TEST_F(OptionsTest, RepeatedDataAddsUp) {
  EXPECT_EQ(parse({"--data", "a", "--data", "b"}).options->data.size(), 2u);
}

TEST_F(OptionsTest, LastOfARepeatedOptionWins) {
  EXPECT_EQ(parse({"--data", "a", "--lr", "1", "--lr", "2"})
                .options->hyperparameters["lr"],
            2);
}

TEST_F(OptionsTest, HelpShowsTheDefaultsInForce) {
  std::string help = parse({"--help"}).answer;
  for (const char *part : {"--lr", "0.001", "--weight-decay", "0.01", "--data",
                           "--resume", "--inspect", "m.onnx"})
    EXPECT_NE(help.find(part), std::string::npos) << help;
  EXPECT_EQ(help.find("--beta1"), std::string::npos);
}

TEST_F(OptionsTest, Version) {
  EXPECT_EQ(parse({"--version"}).answer, "ingotc 1.2.3\n");
}

TEST_F(OptionsTest, Inspect) {
  EXPECT_EQ(parse({"--inspect"}).options->inspect, "text");
  EXPECT_EQ(parse({"--inspect=json"}).options->inspect, "json");
  EXPECT_EQ(parse({"--inspect=json", "--ranks", "8"}).options->ranks, 8);
  expectUsageError({"--inspect=xml"}, "--inspect: 'xml' is not a format");
}

TEST_F(OptionsTest, WrongUsage) {
  expectUsageError({}, "--data: no training data");
  expectUsageError({"--bogus"}, "--bogus: unknown option");
  expectUsageError({"=1"}, "=1: an argument");
  expectUsageError({"file.npz"}, "file.npz: an argument");
  expectUsageError({"--data", "d", "--steps", "1", ""},
                   "command line: an empty argument");
  expectUsageError({"--data", "d", "--lr", "fast"},
                   "--lr: 'fast' is not a number");
  expectUsageError({"--data", "d", "--lr", "inf"}, "--lr: 'inf'");
  expectUsageError({"--data", "d", "--steps", "-1"}, "--steps: '-1'");
  expectUsageError({"--data", "d", "--steps", "99999999999999999999"},
                   "--steps: ");
  expectUsageError({"--data", "d", "--epochs", "1", "--steps", "2"},
                   "excludes");
  expectUsageError({"--data", "d", "--schedule", "wavy"},
                   "--schedule: 'wavy' is not constant, cosine or linear");
  expectUsageError({"--data", "d", "--save-every", "2"},
                   "--save-every: requires --save");
  expectUsageError({"--data", "d", "--predict", "p"},
                   "--predict: needs --eval-data");
  expectUsageError({"--data", "d", "--eval-every", "3"},
                   "--eval-every: needs --eval-data");
}

TEST_F(OptionsTest, ImpossibleValues) {
  manifest.hyperparameters = {{"lr", 1},      {"weight_decay", 0},
                              {"eps", 1},     {"beta1", 0.9},
                              {"beta2", 0.9}, {"clip_norm", 1}};
  auto expect = [&](const char *option, const char *value, const char *part) {
    expectUsageError({"--data", "d", option, value},
                     std::string(option) + ": '" + value + "' is " + part);
  };
  for (const char *option :
       {"--lr", "--weight-decay", "--eps", "--beta1", "--clip-norm"}) {
    expect(option, "nan", "not a number");
    expect(option, "-1", "");
  }
  for (const char *option : {"--beta1", "--beta2"})
    for (const char *value : {"1", "1.5", "1e3"})
      expect(option, value, "not between 0 and 1");
  EXPECT_EQ(parse({"--data", "d", "--beta1", "0", "--lr", "0"})
                .options->hyperparameters["beta1"],
            0);
  expectUsageError({"--data", "d", "--no-shuffle=3"},
                   "--no-shuffle: takes no value");
}

TEST_F(OptionsTest, HintsForOptionsOfTheCompiler) {
  auto getHint = [&](const char *option) -> std::string {
    try {
      parse({"--data", "d", option, "1"});
    } catch (const Error &error) {
      return error.getHint();
    }
    return "";
  };
  EXPECT_NE(getHint("--clip").find("--clip-norm"), std::string::npos);
  EXPECT_NE(getHint("--batch").find("ingotc"), std::string::npos);
}

TEST_F(OptionsTest, HyperparametersOfOtherOptimizers) {
  expectUsageError({"--data", "d", "--beta1", "0.9"},
                   "--beta1: sgd has no such hyperparameter");
  expectUsageError({"--data", "d", "--clip-norm", "1"},
                   "--clip-norm: this trainer was compiled without clipping");
  manifest.hyperparameters.push_back({"clip_norm", 1});
  EXPECT_EQ(parse({"--data", "d", "--clip-norm", "2"})
                .options->hyperparameters["clip_norm"],
            2);
}

TEST_F(OptionsTest, StepsZeroNeedsNoTrainingData) {
  EXPECT_TRUE(parse({"--steps", "0", "--eval-data", "e"}).options);
}

TEST_F(OptionsTest, MoreThanOneRank) {
  for (const char *name :
       {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"}) {
    setenv(name, "4", 1);
    EXPECT_INGOT_ERROR(ExitCode::Usage, std::string(name) + ": 4 ranks",
                       checkRanks());
    setenv(name, "1", 1);
    checkRanks();
    unsetenv(name);
  }
}

} // namespace
