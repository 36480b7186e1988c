// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingot-data: looks into files of samples, and makes others of them.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/core/Text.h"
#include "runtime/core/console/Answer.h"
#include "runtime/core/console/Console.h"
#include "runtime/core/files/OutputPaths.h"
#include "tools/ingot-data/Commands.h"
#include "tools/support/CommandLine.h"

#include <algorithm>
#include <filesystem>

using namespace ingot;
using namespace ingot::runtime;

static void print(const std::string &text) {
  (void)printAnswer(makePrintable(text, /*keepsLines=*/true));
}

/// Prints the problems of all files. Throws if there are any.
static void verifyAll(const DataFiles &files) {
  constexpr size_t most = 100;
  std::vector<std::string> problems;
  for (const DataFile &file : files.files) {
    for (const std::string &problem : verify(file, most))
      problems.push_back(problem);
    if (problems.size() >= most)
      break;
  }
  for (const std::string &problem : problems)
    print(problem + "\n");
  if (problems.empty())
    return;
  throw badInput(files.files.front().path,
                 problems.size() >= most
                     ? "100 problems or more"
                     : std::to_string(problems.size()) +
                           (problems.size() == 1 ? " problem" : " problems"),
                 "mend the samples, or train with --skip-bad");
}

/// Whether a name is that of a shard that begins with `start`.
static bool isShardOf(const std::string &start, const std::string &name) {
  constexpr std::string_view ending = ".tar";
  if (!name.starts_with(start + "-") || !name.ends_with(ending))
    return false;
  std::string_view number = std::string_view(name).substr(start.size() + 1);
  number.remove_suffix(std::min(number.size(), ending.size()));
  return number.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Throws usageError if an output is an input, through links or in other words.
/// Shards may replace files that were there.
static void checkOutputs(const DataFiles &files, const std::string &output,
                         bool isSharded, bool isIndex) {
  OutputPaths paths;
  for (const DataFile &file : files.files) {
    paths.addInput("FILE", file.path);
    if (isIndex)
      paths.addOutput("index", getIndexPath(file.path));
  }
  if (!output.empty() && !isSharded)
    paths.addOutput("-o", output);
  std::error_code ignored;
  std::filesystem::path start(output);
  std::filesystem::path folder =
      start.has_parent_path() ? start.parent_path() : ".";
  if (isSharded)
    for (std::filesystem::directory_iterator entry(folder, ignored), end;
         !ignored && entry != end; entry.increment(ignored))
      if (isShardOf(start.filename(), entry->path().filename()))
        paths.addOutput("-o", entry->path());
  paths.check();
}

static void run(int argc, char **argv) {
  CLI::App app("Looks into files of samples, and makes others of them.",
               "ingot-data");
  app.require_subcommand(1);
  app.set_version_flag("--version", "ingot-data " INGOT_VERSION);
  std::vector<std::string> words;
  std::string output, field;
  int64_t samples = 10000;
  auto addCommand = [&](const char *name, const char *help) {
    CLI::App *command = app.add_subcommand(name, help);
    command->add_option("FILE", words, "files, patterns, @lists or folders")
        ->required();
    return command;
  };
  CLI::App *inspects =
      addCommand("inspect", "prints kind, samples and fields of files");
  CLI::App *indexes =
      addCommand("index", "writes FILE.tar.index, so that archives of many "
                          "members open at once");
  CLI::App *verifies =
      addCommand("verify", "reads every sample and decodes every picture");
  CLI::App *converts =
      addCommand("convert", "writes the samples to a .tar, .npz or .bin file");
  CLI::App *shards = addCommand("shard", "writes .tar shards");
  for (CLI::App *command : {converts, shards}) {
    command->add_option("-o", output, "file, or start of the shards' names")
        ->required();
    command->add_option("--field", field, "the only field to take");
  }
  shards->add_option("--samples", samples, "samples of a shard")
      ->check(runtime::atLeast(1))
      ->capture_default_str();
  if (!parseCommandLine(app, argc, argv))
    return;
  DataFiles files = findFiles(words, "FILE");
  checkOutputs(files, output, bool(*shards), bool(*indexes));
  if (*verifies)
    verifyAll(files);
  if (*converts || *shards)
    for (const std::string &path :
         convertFiles(files, output, field, *shards ? samples : 0))
      print(path + "\n");
  for (const DataFile &file : files.files) {
    if (*inspects)
      print(inspect(file));
    if (*indexes)
      writeIndexOf(file);
  }
}

int main(int argc, char **argv) {
  Console console;
  return runProgram(console, [&] {
    run(argc, argv);
    return 0;
  });
}
