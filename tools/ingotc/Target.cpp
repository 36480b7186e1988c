#include "tools/ingotc/Target.h"

#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/TargetParser/Host.h"

#include <filesystem>
#include <thread>

using namespace ingot;
using runtime::usageError;

Target Target::choose(const std::string &kind, const std::string &arch) {
  Target target;
  bool isCuda = kind == "cuda";
  if (isCuda) {
    auto device = CudaTarget::byName(arch.empty() ? "sm_90" : arch);
    if (!device)
      throw usageError("--arch", llvm::toString(device.takeError()),
                       "name an architecture like sm_80 or sm_90");
    target.device = std::move(*device);
  }
  // Any processor can launch kernels.
  auto host = CpuTarget::byName(isCuda         ? "x86-64"
                                : arch.empty() ? "native"
                                               : arch);
  if (!host)
    throw usageError("--arch", llvm::toString(host.takeError()),
                     "name a processor as LLVM does, or native");
  target.host = std::move(*host);
  return target;
}

llvm::json::Object Target::describe() const {
  if (device)
    return llvm::json::Object{{"kind", "cuda"},
                              {"arch", device->arch},
                              {"features", llvm::json::Array()}};
  llvm::json::Array features;
  for (const std::string &feature : host.features)
    features.push_back(feature);
  return llvm::json::Object{
      {"kind", "cpu"}, {"cpu", host.cpu}, {"features", std::move(features)}};
}

Machine Target::getMachine() const {
  if (device)
    return Machine::ofDevice();
  return Machine::byFeatures(host.features,
                             std::max(1u, std::thread::hardware_concurrency()));
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
  llvm::sys::path::append(
      path,
      llvm::formatv("machine-{0}-{1}-{2}.json", llvm::sys::getHostCPUName(),
                    std::thread::hardware_concurrency(), INGOT_VERSION)
          .str());
  if (llvm::sys::fs::exists(path))
    return path.str().str();
  std::filesystem::path bin = runtime::getExecutablePath();
  std::string program = bin.replace_filename("ingot-measure").string();
  std::string message;
  llvm::StringRef arguments[] = {program, "-o", path};
  if (llvm::sys::ExecuteAndWait(program, arguments, std::nullopt, {}, 0, 0,
                                &message) != 0)
    throw fail("ingot-measure failed " + message);
  return path.str().str();
}
