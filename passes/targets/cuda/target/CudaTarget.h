// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The target that executes steps on an NVIDIA GPU: kernels are GPU functions,
// and library calls are those of cuBLASLt and cuDNN (runtime/cuda).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_TARGET_CUDATARGET_H
#define INGOT_PASSES_TARGETS_CUDA_TARGET_CUDATARGET_H

#include "dialects/ingot/target/Target.h"
#include "passes/targets/cuda/target/CudaCalls.h"
#include "passes/targets/cuda/target/CudaKernels.h"
#include "passes/targets/cuda/target/CudaTargetDevice.h"
#include "passes/targets/cuda/target/GpuSpec.h"

namespace ingot {

class CudaTarget : public Target {
public:
  /// Creates the target. `spec.arch` is a name such as `sm_80`, by default
  /// sm_90; an unsupported name is an error.
  static llvm::Expected<std::unique_ptr<Target>> create(const TargetSpec &spec,
                                                        const Machine &machine);

  Machine describeMachine() const override;
  llvm::StringRef findMachine(llvm::StringRef name) const override;
  const TargetCalls &getCalls() const override { return calls; }
  const TargetKernels &getKernels() const override { return kernels; }
  const TargetDevice *findDevice() const override { return &device; }
  int64_t getScratchBytes(mlir::Operation *op) const override;
  int64_t getAlignment() const override;
  void addLegalization(mlir::OpPassManager &functions, LegalizationPoint point,
                       const LegalizationOptions &options) const override;
  void addKernelPipeline(mlir::OpPassManager &manager,
                         unsigned level) const override;
  HostProcessor getHost() const override;
  llvm::StringRef getRuntime() const override { return "cuda"; }
  runtime::TargetDescription describe() const override;

protected:
  using Target::Target;

  GpuSpec gpu{spec, machine};

private:
  CudaCalls calls{gpu};
  CudaKernels kernels{gpu};
  CudaTargetDevice device{gpu};
};

/// Registers the kind `cuda`.
void registerCudaTarget();
/// Registers `--ingot-cuda-kernels`.
void registerCudaPipelines();

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_CUDA_TARGET_CUDATARGET_H
