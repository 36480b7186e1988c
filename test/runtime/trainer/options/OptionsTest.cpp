// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The trainer's command line.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/options/TrainerOptions.h"
#include "test/runtime/TestSupport.h"

#include <regex>

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
    manifest.compilerOptions = {"--batch", "--data-parallel", "--precision"};
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
  EXPECT_EQ(options.data.training, std::vector<std::string>{"d.npz"});
  EXPECT_FALSE(options.run.epochs);
  EXPECT_FALSE(options.run.steps);
  EXPECT_EQ(options.run.hyperparameters["lr"], 0.001);
  EXPECT_EQ(options.run.schedule.kind, ScheduleKind::Constant);
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
  EXPECT_EQ(options.data.training.size(), 2u);
  EXPECT_EQ(options.run.steps, 7);
  EXPECT_EQ(options.run.hyperparameters["lr"], 0.5);
  EXPECT_EQ(options.run.hyperparameters["weight_decay"], 0);
  EXPECT_EQ(options.run.schedule.kind, ScheduleKind::Linear);
  EXPECT_EQ(options.run.warmup, 2);
  EXPECT_TRUE(options.data.noShuffle);
  EXPECT_EQ(options.save.saveEvery, 2);
  EXPECT_EQ(options.data.evalEvery, 9);
}

TEST_F(OptionsTest, RepeatedDataAddsUp) {
  EXPECT_EQ(parse({"--data", "a", "--data", "b"}).options->data.training.size(),
            2u);
}

TEST_F(OptionsTest, LastOfARepeatedOptionWins) {
  EXPECT_EQ(parse({"--data", "a", "--lr", "1", "--lr", "2"})
                .options->run.hyperparameters["lr"],
            2);
}

TEST_F(OptionsTest, HelpShowsTheDefaultsInForce) {
  std::string help = parse({"--help"}).answer;
  for (const char *part : {"--lr", "0.001", "--weight-decay", "0.01", "--data",
                           "--resume", "--inspect", "m.onnx"})
    EXPECT_NE(help.find(part), std::string::npos) << help;
  EXPECT_EQ(help.find("--beta1"), std::string::npos);
}

TEST_F(OptionsTest, HelpListsTheEnvironment) {
  std::string help = parse({"-h"}).answer;
  EXPECT_EQ(help, parse({"--help"}).answer);
  // Every variable that the runtime reads; those of launchers are in a list of
  // the communicator's.
  std::regex read("getenv\\(\"([A-Z_]+)\"\\)");
  size_t found = 0;
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(INGOT_TEST_RUNTIME)) {
    if (entry.path().extension() != ".cpp")
      continue;
    std::string text = readFile(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), read), end;
         at != end; ++at) {
      std::string name = (*at)[1];
      if (name.starts_with("SLURM_"))
        continue;
      ++found;
      EXPECT_NE(help.find(name), std::string::npos) << name;
    }
  }
  EXPECT_GE(found, 8u);
}

class ConfigTest : public OptionsTest {
protected:
  ParsedOptions parseFile(const std::string &text,
                          std::vector<const char *> arguments = {}) {
    writeFile(path, text);
    arguments.insert(arguments.begin(), {"--config", path.c_str()});
    return parse(arguments);
  }
  void expectFileError(const std::string &text, const std::string &part) {
    writeFile(path, text);
    expectUsageError({"--config", path.c_str()}, part);
  }

  TemporaryFolder folder;
  std::string path = folder / "run.toml";
};

TEST_F(ConfigTest, ReadsWhatOptionsSay) {
  Options options = *parseFile("# A comment\n"
                               "[data]\n"
                               "data = [\"a b.npz\", # first\n"
                               "  'c,d.npz']\n"
                               "no_shuffle = true\n"
                               "[run]\n"
                               "lr = 0.5 # fast\n"
                               "weight_decay = 0\n"
                               "schedule = \"step:3,5:0.5\"\n"
                               "warmup = \"5%\"\n"
                               "steps = 7\n"
                               "check-memory = false\n",
                               {"--steps", "9"})
                         .options;
  EXPECT_EQ(options.data.training,
            (std::vector<std::string>{"a b.npz", "c,d.npz"}));
  EXPECT_TRUE(options.data.noShuffle);
  EXPECT_FALSE(options.observe.checkMemory);
  EXPECT_EQ(options.run.hyperparameters["lr"], 0.5);
  EXPECT_EQ(options.run.hyperparameters["weight_decay"], 0);
  EXPECT_EQ(options.run.schedule.str(), "step:3,5:0.5");
  EXPECT_EQ(options.run.warmupPart, 0.05);
  EXPECT_EQ(options.run.steps, 9);
  EXPECT_TRUE(options.line.isGiven("--lr"));
}

TEST_F(ConfigTest, PrintsWhatItReads) {
  std::vector<const char *> arguments = {
      "--data",     "a b", "c'd",          "--lr",     "0.25",
      "--schedule", "wsd", "--no-shuffle", "--min-lr", "1e-4"};
  Options direct = *parse(arguments).options;
  arguments.push_back("--print-config");
  std::string printed = parse(arguments).answer;
  Options read = *parseFile(printed).options;
  EXPECT_EQ(read.data.training, direct.data.training);
  EXPECT_EQ(read.run.hyperparameters, direct.run.hyperparameters);
  EXPECT_EQ(read.run.schedule, direct.run.schedule);
  EXPECT_EQ(read.data.noShuffle, direct.data.noShuffle);
  EXPECT_EQ(read.run.minLr, direct.run.minLr);
  EXPECT_EQ(parseFile(printed, {"--print-config"}).answer, printed);
}

TEST_F(ConfigTest, KeepsEveryCharacter) {
  std::vector<const char *> arguments = {
      "--data", "a\"b",       "c'd",    "e'f\"g", "a#b", "[x]", "a, b",
      "tab\tx", "two\nlines", "no\\rm", "'\\\"",  "\\",  "#",   "-"};
  Options direct = *parse(arguments).options;
  arguments.push_back("--print-config");
  std::string printed = parse(arguments).answer;
  EXPECT_EQ(parseFile(printed).options->data.training, direct.data.training);
  EXPECT_EQ(parseFile(printed, {"--print-config"}).answer, printed);
  // Words without quotation marks, and a regular expression.
  EXPECT_EQ(parseFile("data = a.npz b.npz # two\n").options->data.training,
            (std::vector<std::string>{"a.npz", "b.npz"}));
  EXPECT_EQ(parseFile("data = \"a\\.b\"\n").options->data.training,
            std::vector<std::string>{"a\\.b"});
  // The byte order mark of programs on Windows.
  EXPECT_EQ(parseFile("\xef\xbb\xbf"
                      "data = a.npz\n")
                .options->data.training,
            std::vector<std::string>{"a.npz"});
}

TEST_F(ConfigTest, RefusesWhatIsNoConfiguration) {
  expectFileError("speed = 3\n", "--config: unknown option 'speed'");
  expectFileError("lr 3\n", "--config: line 1: not 'name = value'");
  expectFileError("lr =\n", "--config: line 1: 'lr' has no value");
  expectFileError("\nlr = 1\nlr = 2\n",
                  "--config: line 3: 'lr' is there twice");
  expectFileError("data = [\"a\"\n", "ends within an array");
  expectFileError("data = [[\"a\"]]\n", "line 1: an array within an array");
  expectFileError("data = ['a' 'b']\n", "line 1: no comma between two values");
  expectFileError("\ndata = \"a\n", "line 2: a string does not end");
  expectFileError("data = ['a'] b\n", "words after the value of 'data'");
  expectFileError("]\n", "line 1: ']' without '['");
  expectFileError("lr = fast\n", "--lr: 'fast' is not a number");
  expectFileError("inspect = true\n", "--config: inspect");
  expectFileError(std::string("lr = 1\n\0\n", 9), "zero byte");
  expectUsageError({"--config", "/nothing/there.toml"}, "--config");
}

TEST_F(OptionsTest, Rates) {
  Options options =
      *parse({"--data", "d", "--schedule", "polynomial:2", "--warmup", "7",
              "--min-lr", "1e-5", "--log-every", "10", "--nan", "rollback",
              "--save", "s", "--ema", "0.99"})
           .options;
  EXPECT_EQ(options.run.schedule.power, 2);
  EXPECT_EQ(options.run.warmup, 7);
  EXPECT_EQ(options.run.minLr, 1e-5);
  EXPECT_EQ(options.observe.logEvery, 10);
  EXPECT_EQ(options.run.nan, NanPolicy::Rollback);
  EXPECT_EQ(options.run.ema, 0.99);
  for (auto [value, part] : {std::pair{"step", "'step' without the number of"},
                             {"step:0", "'0' is not an integer above 0"},
                             {"step:5,3", "the steps '5,3' do not grow"},
                             {"step:5:0.1:2", "'step:5:0.1:2' is not step:N"},
                             {"cosine:3", "'cosine:3' is not cosine"},
                             {"polynomial:x", "'x' is not a number above 0"},
                             {"wsd:5", "'5' is not a percentage"},
                             {"wsd:120%", "more than 100%"}})
    expectUsageError({"--data", "d", "--schedule", value},
                     std::string("--schedule: ") + part);
  expectUsageError({"--data", "d", "--warmup", "101%"}, "--warmup: '101%'");
  expectUsageError({"--data", "d", "--ema", "1"}, "--ema: '1' is not a number");
  expectUsageError({"--data", "d", "--nan", "pray"}, "--nan: ");
  expectUsageError({"--data", "d", "--nan", "rollback"},
                   "--nan: rollback needs checkpoints");
  expectUsageError({"--data", "d", "--nan", "skip"},
                   "--nan: this trainer cannot skip");
  expectUsageError({"--data", "d", "--early-stop", "2"},
                   "--early-stop: needs --eval-data");
}

TEST_F(OptionsTest, Version) {
  EXPECT_EQ(parse({"--version"}).answer, "ingotc 1.2.3\n");
}

TEST_F(OptionsTest, Inspect) {
  EXPECT_EQ(parse({"--inspect"}).options->report.inspect, InspectForm::Text);
  EXPECT_EQ(parse({"--inspect=json"}).options->report.inspect,
            InspectForm::Json);
  EXPECT_EQ(parse({"--inspect=json", "--ranks", "8"}).options->report.ranks, 8);
  expectUsageError({"--inspect=xml"}, "--inspect: 'xml' is not a format");
}

TEST_F(OptionsTest, SaysWhatUnknownOptionsMayHaveMeant) {
  for (auto [given, meant] :
       {std::pair{"--learning-rate", "did you mean --lr?"},
        {"--learning_rate=1", "did you mean --lr?"},
        {"--step", "did you mean --steps?"},
        {"--num-workers", "did you mean --workers?"},
        {"--shedule", "did you mean --schedule?"},
        {"--batch-size", "--batch is an option of ingotc"},
        {"--precision", "it is an option of ingotc"},
        {"--data_parallel", "--data-parallel is an option of ingotc"},
        {"--data-parallel", "it is an option of ingotc"},
        {"--bogus", "--help lists the options"}})
    try {
      parse({given});
      ADD_FAILURE() << given << " is accepted";
    } catch (const Error &error) {
      EXPECT_NE(error.getHint().find(meant), std::string::npos)
          << given << ": " << error.getHint();
    }
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
                   "--schedule: 'wavy' is not constant, cosine, linear, ");
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
                .options->run.hyperparameters["beta1"],
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
                .options->run.hyperparameters["clip_norm"],
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
