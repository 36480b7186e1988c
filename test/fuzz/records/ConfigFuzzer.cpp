// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Any bytes as a configuration of --config, for a program with options of
// every kind.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/readers/Fuzzer.h"
#include "test/fuzz/records/Folder.h"

#include "runtime/core/commandline/ConfigFile.h"

#include <cstdint>
#include <cstdlib>

using namespace ingot;
using namespace ingot::runtime;

namespace {

/// A program with options of every kind.
struct Program {
  CLI::App app{"reads a configuration", "program"};
  std::vector<std::string> data;
  std::string precision = "fp32";
  int64_t steps = 1;
  double rate = 0.1;
  bool shuffles = false, printConfig = false;

  Program() {
    app.add_option("--data", data, "files");
    app.add_option("--precision", precision, "a choice")
        ->check(CLI::IsMember({"fp32", "bf16"}))
        ->capture_default_str();
    app.add_option("--steps", steps, "a count")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    app.add_option("--lr", rate, "a number")->capture_default_str();
    app.add_flag("--no-shuffle", shuffles, "a flag");
    addConfigOptions(app, printConfig, "Configuration");
  }

  /// Reads the file. Returns whether it is one.
  bool parse(const std::string &file) {
    // Options are given in reverse.
    std::vector<std::string> words = {file, "--config"};
    try {
      app.parse(words);
    } catch (const CLI::ParseError &error) {
      std::optional<Error> explained = explainConfigError(error);
      if (explained && explained->getHint().empty())
        std::abort();
      return false;
    }
    return true;
  }
};

} // namespace

void ingot::fuzz::read(std::string_view bytes) {
  enterFolder();
  writeFile("run.toml", bytes);
  Program program;
  if (!program.parse("run.toml"))
    return;
  // What a run writes beside its log is read again as the same options.
  std::string text = formatConfiguration(collectConfiguration(program.app));
  writeFile("again.toml", text);
  Program again;
  if (!again.parse("again.toml") ||
      formatConfiguration(collectConfiguration(again.app)) != text)
    std::abort();
}
