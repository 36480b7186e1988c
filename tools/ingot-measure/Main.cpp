// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingot-measure: writes the profile of this machine for `ingotc --machine`.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Console.h"
#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "tools/ingot-measure/Measure.h"
#include "tools/support/CommandLine.h"

#include "llvm/Support/raw_ostream.h"

using namespace ingot;

static void measure(int argc, char **argv) {
  CLI::App app("Measures this machine, for ingotc --machine.", "ingot-measure");
  std::string path;
  app.add_option("-o", path, "file to write (standard output)");
  app.set_version_flag("--version", "ingot-measure " INGOT_VERSION);
  if (!parseCommandLine(app, argc, argv))
    return;
  std::string profile = measureMachine().toJson();
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
