// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingot-pass-stages FILE... -- PASS...: runs every pass on the module of every
// file, each in a process of its own, which is a copy of one that has read the
// module: starting a program and reading the file again for each pass would
// take most of the time.
//
// Prints a line for each pass that crashes, takes too long, or fails without an
// error, and the number of runs.
//
//===----------------------------------------------------------------------===//

#include "passes/Registration.h"

#include "mlir/IR/AsmState.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;

namespace {
/// The processor seconds that a pass may take.
constexpr rlim_t kSeconds = 60;

/// How the process of a pass ends.
enum class End { Fine = 0, FailedSilently = 10 };
} // namespace

/// Runs the pass in this process, which is then at its end.
[[noreturn]] static void run(ModuleOp module, llvm::StringRef pass) {
  rlimit time{kSeconds, kSeconds}, dumps{0, 0};
  setrlimit(RLIMIT_CPU, &time);
  setrlimit(RLIMIT_CORE, &dumps);
  unsigned errors = 0;
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](Diagnostic &diagnostic) {
        errors += diagnostic.getSeverity() == DiagnosticSeverity::Error;
        return success();
      });
  // The op that the pass is for is not in its name.
  bool isFine = false;
  for (llvm::StringRef before : {"", "func.func(", "gpu.module("}) {
    std::string ignored;
    llvm::raw_string_ostream os(ignored);
    PassManager manager(module.getContext());
    std::string text = (before + pass + (before.empty() ? "" : ")")).str();
    if (failed(parsePassPipeline(text, manager, os)))
      continue;
    isFine = succeeded(manager.run(module));
    break;
  }
  _exit(static_cast<int>(isFine || errors != 0 ? End::Fine
                                               : End::FailedSilently));
}

/// Returns what is wrong with the pass on the module; empty if nothing is.
static std::string attempt(ModuleOp module, llvm::StringRef pass) {
  pid_t child = fork();
  if (child == 0)
    run(module, pass);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child)
    return "cannot be started";
  if (WIFSIGNALED(status))
    return WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL
               ? "takes more than " + std::to_string(kSeconds) + " s"
               : std::string("ended by ") + strsignal(WTERMSIG(status));
  if (WEXITSTATUS(status) == static_cast<int>(End::FailedSilently))
    return "fails without an error";
  if (WEXITSTATUS(status) != static_cast<int>(End::Fine))
    return "exit " + std::to_string(WEXITSTATUS(status));
  return "";
}

int main(int argc, char **argv) {
  llvm::InitializeAllTargets();
  llvm::InitializeAllTargetMCs();
  llvm::InitializeAllAsmPrinters();
  registerTransformsPasses();
  ingot::registerIngotPasses();
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllGPUToLLVMIRTranslations(registry);
  ingot::registerIngotDialects(registry);

  llvm::SmallVector<llvm::StringRef> files, passes;
  bool afterFiles = false;
  for (llvm::StringRef argument : llvm::ArrayRef(argv, argc).drop_front())
    if (argument == "--")
      afterFiles = true;
    else
      (afterFiles ? passes : files).push_back(argument);

  unsigned fine = 0, all = 0;
  for (llvm::StringRef file : files) {
    // Threads do not survive a fork.
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    OwningOpRef<ModuleOp> module =
        parseSourceFile<ModuleOp>(file, ParserConfig(&context));
    if (!module) {
      llvm::outs() << file << ": cannot be read\n";
      ++all;
      continue;
    }
    for (llvm::StringRef pass : passes) {
      std::string problem = attempt(*module, pass);
      ++all;
      fine += problem.empty();
      if (!problem.empty())
        llvm::outs() << pass << " on " << file << ": " << problem << "\n";
    }
  }
  llvm::outs() << fine << " of " << all << " fine\n";
  return fine == all && all != 0 ? 0 : 1;
}
