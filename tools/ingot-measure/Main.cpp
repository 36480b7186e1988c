// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingot-measure: writes the profile of this machine for `ingotc --machine`.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/console/Console.h"
#include "runtime/core/machine/Process.h"
#include "runtime/core/machine/ProcessorUse.h"
#include "tools/ingot-measure/Measure.h"
#include "tools/support/CommandLine.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace ingot;

/// Adds the hardware that was measured to a profile.
static std::string addSource(const std::string &profile) {
  llvm::json::Value json = llvm::cantFail(llvm::json::parse(profile));
  llvm::json::Object sources;
  sources["threads"] = "measured on " + runtime::describeHardware();
  (*json.getAsObject())["sources"] = std::move(sources);
  return llvm::formatv("{0:2}\n", json);
}

static void measure(int argc, char **argv) {
  CLI::App app("Measures this machine, for ingotc --machine.", "ingot-measure");
  std::string path;
  app.add_option("-o", path, "file to write (standard output)");
  app.set_version_flag("--version", "ingot-measure " INGOT_VERSION);
  if (!parseCommandLine(app, argc, argv))
    return;
  runtime::ProcessorUse from = runtime::readProcessorUse();
  std::string profile = addSource(measureMachine().toJson());
  double others = runtime::getOthersShare(from, runtime::readProcessorUse());
  if (others > runtime::kMostOthers)
    llvm::errs() << "note: " << runtime::describeOthers(others)
                 << ", which makes its figures too low: measure again when it "
                    "is idle\n";
  if (path.empty()) {
    llvm::outs() << profile;
    return;
  }
  runtime::AtomicFile file(path);
  file.write(profile);
  file.commit();
}

int main(int argc, char **argv) {
  runtime::Console console;
  return runtime::runProgram(console, [&] {
    measure(argc, argv);
    return 0;
  });
}
