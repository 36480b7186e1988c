#include "tools/ingotc/Target.h"

#include "runtime/core/Error.h"

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
