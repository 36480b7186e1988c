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
#include "llvm/Support/raw_ostream.h"

#include <CLI/CLI.hpp>

using namespace ingot;

static void measure(int argc, char **argv) {
  CLI::App app("Measures this machine, for ingotc --machine.", "ingot-measure");
  std::string path;
  app.add_option("-o", path, "file to write (standard output)");
  app.set_version_flag("--version", "ingot-measure " INGOT_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &success) {
    app.exit(success);
    return;
  } catch (const CLI::ParseError &error) {
    throw runtime::usageError("command line", error.what(),
                              "see ingot-measure --help");
  }
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
  try {
    measure(argc, argv);
    return 0;
  } catch (const runtime::Error &error) {
    console.print(error);
    return static_cast<int>(error.getCode());
  } catch (const std::exception &error) {
    console.print(runtime::failure("internal", error.what(),
                                   "report this with the command line"));
  }
  return static_cast<int>(runtime::ExitCode::Failed);
}
