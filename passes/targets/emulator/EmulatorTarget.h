// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The target of tests: the GPU functions of the CUDA target, executed thread by
// thread on the host's CPU (runtime/emulator). Library calls are the CPU's, and
// so are their limits; epilogues are those that the CUDA target matches.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_EMULATOR_EMULATORTARGET_H
#define INGOT_PASSES_TARGETS_EMULATOR_EMULATORTARGET_H

#include "passes/targets/cuda/target/CudaTarget.h"

namespace ingot {

class EmulatorTarget : public CudaTarget {
public:
  static llvm::Expected<std::unique_ptr<Target>> create(const TargetSpec &spec,
                                                        const Machine &machine);

  Machine describeMachine() const override;
  const TargetCalls &getCalls() const override { return calls; }
  const TargetKernels &getKernels() const override { return kernels; }
  const TargetDevice *findDevice() const override { return &device; }
  void addLegalization(mlir::OpPassManager &functions, LegalizationPoint point,
                       const LegalizationOptions &options) const override;
  void addKernelPipeline(mlir::OpPassManager &manager,
                         unsigned level) const override;
  HostProcessor getHost() const override;
  llvm::StringRef getRuntime() const override { return "emulator"; }
  runtime::TargetDescription describe() const override;

private:
  /// The CPU's library calls, in the forms that GPUs prefer.
  struct Calls : CudaCalls {
    using CudaCalls::CudaCalls;

    LibrarySupport getSupport(LibraryCall call) const override;
    bool hasAttention(mlir::Type) const override { return true; }
    std::string refuseAttention(const AttentionQuery &) const override {
      return "";
    }
    llvm::Expected<std::optional<Float8Matmuls>>
    getFloat8Matmuls(ScaleLayout) const override {
      return std::nullopt;
    }
  };
  struct Kernels : CudaKernels {
    using CudaKernels::CudaKernels;

    MatmulKernel describeMatmulKernel(LibraryCall, int64_t,
                                      int64_t) const override {
      return {"the emulator has no tensor cores"};
    }
  };
  /// The host, which runs device functions in order and in its own memory.
  struct Device : CudaTargetDevice {
    using CudaTargetDevice::CudaTargetDevice;

    int64_t getStagingBlocks() const override { return 0; }
    int64_t getStreams() const override { return 1; }
    llvm::Expected<DeviceCode> emitCode(mlir::ModuleOp) const override {
      return DeviceCode();
    }
  };

  using CudaTarget::CudaTarget;

  Calls calls{gpu};
  Kernels kernels{gpu};
  Device device{gpu};
};

/// Registers the kind `emulator`.
void registerEmulatorTarget();

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_EMULATOR_EMULATORTARGET_H
