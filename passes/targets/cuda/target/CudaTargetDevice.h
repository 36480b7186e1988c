// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// An NVIDIA GPU as the device of a target.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_TARGET_CUDATARGETDEVICE_H
#define INGOT_PASSES_TARGETS_CUDA_TARGET_CUDATARGETDEVICE_H

#include "dialects/ingot/ir/Interfaces.h"
#include "dialects/ingot/target/TargetDevice.h"
#include "passes/targets/cuda/kernels/DeviceMessages.h"
#include "passes/targets/cuda/target/GpuSpec.h"

namespace ingot {

class CudaTargetDevice : public TargetDevice {
public:
  explicit CudaTargetDevice(const GpuSpec &gpu) : gpu(gpu) {}

  int64_t getStagingBlocks() const override;
  int64_t getStreams() const override { return 2; }
  bool canRunBeside(mlir::Operation *op) const override;
  int64_t getBytesOfRank(mlir::Operation *op) const override;
  void addPipeline(mlir::OpPassManager &manager) const override;
  /// Adds the passes from placed steps to GPU functions in a `gpu.module`.
  static void addFunctions(mlir::OpPassManager &manager,
                           const GpuSpec::Instructions &instructions);
  llvm::Expected<DeviceCode> emitCode(mlir::ModuleOp module) const override;

private:
  const GpuSpec &gpu;
};

/// Returns the memory that the start of a compressed exchange needs; none for
/// other calls.
std::optional<codegen::MessageBuffers> findMessages(LibraryCall call);

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_CUDA_TARGET_CUDATARGETDEVICE_H
