//===----------------------------------------------------------------------===//
//
// What a trainer runs on.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_TARGET_H
#define INGOT_TOOLS_INGOTC_TARGET_H

#include "passes/cost/Machine.h"
#include "passes/targets/cuda/DeviceCode.h"
#include "passes/targets/host/Object.h"

#include "llvm/Support/JSON.h"

namespace ingot {

struct Target {
  /// Runs the kernels or, if there is a device, only launches them.
  CpuTarget host;
  std::optional<CudaTarget> device;

  /// From `--target` and `--arch`, which may be empty. Throws usageError.
  static Target choose(const std::string &kind, const std::string &arch);

  /// As the manifest says it.
  llvm::json::Object describe() const;
  /// Built-in figures: as many threads as this machine has.
  Machine getMachine() const;
};

/// The profile that ingot-measure wrote of this machine: once for a kind of
/// processor, number of threads and version, in the user's cache directory. The
/// first call measures. Throws failure.
std::string findMeasuredProfile();

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_TARGET_H
