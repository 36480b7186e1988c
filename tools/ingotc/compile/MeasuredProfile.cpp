// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/compile/MeasuredProfile.h"

#include "dialects/ingot/target/Machine.h"
#include "passes/Pipeline.h"
#include "runtime/abi/Processor.h"
#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/machine/ControlGroups.h"
#include "runtime/core/machine/Process.h"
#include "runtime/core/machine/ProcessorUse.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include "llvm/TargetParser/Host.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>

using namespace ingot;

/// Says which machine is planned for where --machine does not: built-in,
/// measured or a file.
static constexpr const char *kMachineVariable = "INGOT_MACHINE";

/// Returns a digest of the hardware, and of the profile's fields and their
/// built-in values, so that a file of another machine or with other fields is
/// not taken for a profile of this one.
static std::string digestMachine() {
  return llvm::utohexstr(
      llvm::xxh3_64bits(Machine().toJson() + runtime::describeHardware()),
      /*LowerCase=*/true, /*Width=*/16);
}

static runtime::Error explainProblem(const llvm::Twine &what) {
  return runtime::failure("--machine measured", what.str(),
                          "run ingot-measure -o FILE and pass --machine FILE");
}

/// Runs ingot-measure. Returns the part of the machine that other processes
/// took. Throws failure.
static double measure(const std::string &path) {
  std::filesystem::path bin = runtime::getExecutablePath();
  std::string program = bin.replace_filename("ingot-measure").string();
  std::string message;
  llvm::StringRef arguments[] = {program, "-o", path};
  runtime::ProcessorUse from = runtime::readProcessorUse();
  if (llvm::sys::ExecuteAndWait(program, arguments, std::nullopt, {}, 0, 0,
                                &message) != 0)
    throw explainProblem("ingot-measure failed " + message);
  return runtime::getOthersShare(from, runtime::readProcessorUse());
}

/// Returns the profile that ingot-measure wrote of this machine: once for the
/// hardware, the level of INGOT_MAX_ISA, the number of threads, the version and
/// the profile's fields, in the user's cache directory. The first call that
/// finds the machine idle measures, and says so on stderr. Throws failure.
static std::string findMeasuredProfile() {
  llvm::SmallString<256> path;
  if (!llvm::sys::path::cache_directory(path))
    throw explainProblem("no cache directory: HOME is not set");
  llvm::sys::path::append(path, "ingot");
  if (std::error_code error = llvm::sys::fs::create_directories(path))
    throw explainProblem(path + ": " + error.message());
  const char *level = std::getenv(abi::kMaxIsaVariable);
  std::string most = level && *level ? std::string("-") + level : "";
  llvm::sys::path::append(path, llvm::formatv("machine-{0}{1}-{2}-{3}-{4}.json",
                                              llvm::sys::getHostCPUName(), most,
                                              runtime::countProcessors(),
                                              INGOT_VERSION, digestMachine())
                                    .str());
  if (llvm::sys::fs::exists(path))
    return path.str().str();
  // Shorter than what is saved by not measuring in vain.
  constexpr auto look = std::chrono::milliseconds(300);
  runtime::ProcessorUse from = runtime::readProcessorUse();
  std::this_thread::sleep_for(look);
  double others = runtime::getOthersShare(from, runtime::readProcessorUse());
  if (others <= runtime::kMostOthers) {
    llvm::errs() << "note: measuring this machine once, for some seconds, to "
                 << path << "; delete it to measure again; " << kMachineVariable
                 << "=built-in does without\n";
    others = measure(path.str().str());
  }
  if (others <= runtime::kMostOthers)
    return path.str().str();
  (void)llvm::sys::fs::remove(path);
  throw explainProblem(
      "the machine is busy: " + runtime::describeOthers(others) +
      ", and it is measured by a later call");
}

void ingot::resolveMachine(PipelineOptions &pipeline) {
  bool isNative = pipeline.target == "cpu" &&
                  (pipeline.arch.empty() || pipeline.arch == "native");
  bool isDefault = pipeline.machine.empty();
  if (isDefault && isNative) {
    const char *setting = std::getenv(kMachineVariable);
    pipeline.machine = setting && *setting ? setting : "measured";
  }
  if (pipeline.machine == "built-in")
    pipeline.machine.clear();
  if (pipeline.machine != "measured")
    return;
  if (pipeline.target != "cpu")
    throw runtime::usageError("--machine", "measures CPUs, not GPUs",
                              "name a file with the GPU's figures");
  try {
    pipeline.machine = findMeasuredProfile();
  } catch (const runtime::Error &error) {
    if (!isDefault)
      throw;
    llvm::errs() << "note: plans with built-in figures of this CPU: "
                 << error.getWhat() << "\n";
    pipeline.machine.clear();
  }
}
