// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/MeasuredProfile.h"

#include "dialects/ingot/target/Machine.h"
#include "runtime/abi/Processor.h"
#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/machine/ControlGroups.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include "llvm/TargetParser/Host.h"

#include <cstdlib>
#include <filesystem>

using namespace ingot;

/// Returns a digest of the profile's fields and their built-in values, so that
/// a file with other fields is not taken for a profile of this compiler.
static std::string digestFields() {
  return llvm::utohexstr(llvm::xxh3_64bits(Machine().toJson()),
                         /*LowerCase=*/true, /*Width=*/16);
}

std::string ingot::findMeasuredProfile() {
  auto fail = [](const llvm::Twine &what) {
    return runtime::failure(
        "--machine measured", what.str(),
        "run ingot-measure -o FILE and pass --machine FILE");
  };
  llvm::SmallString<256> path;
  if (!llvm::sys::path::cache_directory(path))
    throw fail("no cache directory: HOME is not set");
  llvm::sys::path::append(path, "ingot");
  if (std::error_code error = llvm::sys::fs::create_directories(path))
    throw fail(path + ": " + error.message());
  const char *level = std::getenv(abi::kMaxIsaVariable);
  std::string most = level && *level ? std::string("-") + level : "";
  llvm::sys::path::append(path, llvm::formatv("machine-{0}{1}-{2}-{3}-{4}.json",
                                              llvm::sys::getHostCPUName(), most,
                                              runtime::countProcessors(),
                                              INGOT_VERSION, digestFields())
                                    .str());
  if (llvm::sys::fs::exists(path))
    return path.str().str();
  llvm::errs() << "note: measuring this machine once, for some seconds; "
               << kMachineVariable << "=built-in does without\n";
  std::filesystem::path bin = runtime::getExecutablePath();
  std::string program = bin.replace_filename("ingot-measure").string();
  std::string message;
  llvm::StringRef arguments[] = {program, "-o", path};
  if (llvm::sys::ExecuteAndWait(program, arguments, std::nullopt, {}, 0, 0,
                                &message) != 0)
    throw fail("ingot-measure failed " + message);
  return path.str().str();
}
