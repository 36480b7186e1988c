// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingotc: compiles an ONNX model into a trainer.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/core/console/Console.h"
#include "runtime/core/machine/Threads.h"
#include "tools/ingotc/RunCompiler.h"
#include "tools/ingotc/compile/RemarksFile.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"

#include <csignal>
#include <unistd.h>

using namespace ingot;

static constexpr const char *kOutOfMemory = "out of memory";
static constexpr const char *kFreeMemory =
    "free memory, or compile a smaller model";

/// Reports an error that LLVM ends programs with, such as a full disk for the
/// remarks that it writes itself, like all others.
static void reportFatalError(void * /*data*/, const char *reason,
                             bool /*wantsDiagnostics*/) {
  std::string remarks = RemarksFile::abandonCurrent();
  llvm::StringRef said(reason);
  // What LLVM writes itself are remarks, and what goes to the standard output.
  if (said.consume_front("IO failure on output stream: "))
    runtime::Console().print(runtime::failure(
        remarks.empty() ? "stdout" : remarks, "cannot write: " + said.str(),
        remarks.empty() ? "check where the output goes"
                        : "check the space left"));
  else if (said.starts_with("pthread_create"))
    runtime::Console().print(runtime::lackOfThreads());
  else if (said == kOutOfMemory)
    runtime::Console().print(runtime::failure("memory", reason, kFreeMemory));
  else
    runtime::Console().print(runtime::failure(
        "LLVM", reason,
        "check the space left; if it suffices, report this with the command "
        "line"));
  _exit(static_cast<int>(runtime::ExitCode::Failed));
}

int main(int argc, char **argv) {
  // A limit on the size of files is an error of the write, like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  llvm::install_fatal_error_handler(reportFatalError);
  llvm::install_bad_alloc_error_handler([](void *data, const char *, bool) {
    reportFatalError(data, kOutOfMemory, /*wantsDiagnostics=*/false);
  });
  runtime::Console console;
  return runtime::runProgram(
      console,
      [&] {
        auto options = parseCompilerOptions(argc, argv);
        return options ? runCompiler(std::move(*options)) : 0;
      },
      kFreeMemory);
}
