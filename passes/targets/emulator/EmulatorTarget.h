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
  LibrarySupport getSupport(LibraryCall call) const override;
  bool hasAttention(mlir::Type) const override { return true; }
  std::string refuseAttention(const AttentionQuery &) const override {
    return "";
  }
  llvm::Expected<std::optional<Float8Matmuls>>
  getFloat8Matmuls(ScaleLayout) const override {
    return std::nullopt;
  }
  int64_t getStagingBlocks() const override { return 0; }
  MatmulKernel describeMatmulKernel(LibraryCall, int64_t,
                                    int64_t) const override {
    return {"the emulator has no tensor cores"};
  }
  int64_t getStreams() const override { return 1; }
  void addLegalization(mlir::OpPassManager &functions, LegalizationPoint point,
                       const LegalizationOptions &options) const override;
  void addKernelPipeline(mlir::OpPassManager &manager,
                         unsigned level) const override;
  llvm::Expected<DeviceCode> emitDeviceCode(mlir::ModuleOp) const override {
    return DeviceCode();
  }
  HostProcessor getHost() const override;
  llvm::StringRef getRuntime() const override { return "emulator"; }
  runtime::TargetDescription describe() const override;

private:
  using CudaTarget::CudaTarget;
};

/// Registers the kind `emulator`.
void registerEmulatorTarget();

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_EMULATOR_EMULATORTARGET_H
