// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingot-report: joins what trainers and the compiler write to one page.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/Text.h"
#include "runtime/core/console/Console.h"
#include "runtime/core/files/OutputPaths.h"
#include "tools/ingot-report/Inputs.h"
#include "tools/report/Page.h"
#include "tools/support/CommandLine.h"

using namespace ingot;
using namespace ingot::runtime;

static void run(int argc, char **argv) {
  CLI::App app("Makes one page of the logs, profiles and diagnoses of runs and "
               "of the compiler's report on their trainer. The page needs no "
               "other file and no network.",
               "ingot-report");
  app.set_version_flag("--version", "ingot-report " INGOT_VERSION);
  std::vector<std::string> words;
  std::string output = "report.html", title;
  app.add_option(
         "RUN", words,
         "a folder of a run's files, or files: the log of a run "
         "(--log), and after it those that belong to it, which --profile "
         "and --diagnose=json of the trainer and --report and --remarks "
         "of ingotc write")
      ->required();
  app.add_option("-o", output, "the page to write")->capture_default_str();
  app.add_option("--title", title, "the title of the page");
  if (!parseCommandLine(app, argc, argv))
    return;
  std::vector<RunFiles> runs = findRuns(words);
  OutputPaths paths;
  for (const std::string &file : listFiles(runs))
    paths.addInput("RUN", file);
  paths.addOutput("-o", output);
  paths.check();
  paths.prepare();
  nlohmann::ordered_json report = {
      {"title", !title.empty() ? title : runs.front().name}};
  report.update(readRuns(runs));
  AtomicFile file(output);
  file.write(
      makePage(makePrintable(report["title"].get<std::string>()),
               report.dump(-1, ' ', /*ensure_ascii=*/false,
                           nlohmann::ordered_json::error_handler_t::replace)));
  file.commit();
}

int main(int argc, char **argv) {
  Console console;
  return runProgram(console, [&] {
    run(argc, argv);
    return 0;
  });
}
