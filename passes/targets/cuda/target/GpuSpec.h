// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The GPU that a target is for: its architecture, figures and options, which
// all facets of the CUDA target ask.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_TARGET_GPUSPEC_H
#define INGOT_PASSES_TARGETS_CUDA_TARGET_GPUSPEC_H

#include "dialects/ingot/target/Target.h"

namespace ingot {

class GpuSpec {
public:
  /// Refers to both, which may change.
  GpuSpec(const TargetSpec &spec, const Machine &machine)
      : spec(spec), machine(machine) {}

  /// The compute capability, times ten, that was the first to have 8-bit
  /// floats, and those of architectures.
  static constexpr unsigned kFirstOfFloat8 = 89;
  static constexpr unsigned kHopper = 90, kBlackwell = 100,
                            kSmallBlackwell = 120;
  /// Instructions that only GPUs have.
  struct Instructions {
    /// Rounding to bf16, and the approximation of 2^x.
    bool math = false;
    /// Rounding to 8-bit floats.
    bool float8 = false;
  };

  const Machine &getMachine() const { return machine; }
  /// Returns the value of an option of the target; none if it was not given.
  std::optional<llvm::StringRef> getOption(const std::string &name) const {
    return spec.getOption(name);
  }
  /// Returns the architecture, by default sm_90.
  llvm::StringRef getArch() const;
  /// Returns the compute capability, times ten.
  unsigned getCapability() const;
  Instructions getInstructions() const;
  /// Returns whether contractions in fp32 round their operands to TF32.
  bool roundsF32() const { return spec.math == MathMode::TF32; }
  /// Returns the workspace in bytes of each library call.
  int64_t getWorkspaceBytes() const;

private:
  const TargetSpec &spec;
  const Machine &machine;
};

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_CUDA_TARGET_GPUSPEC_H
