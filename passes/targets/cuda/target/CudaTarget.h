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

namespace ingot {

class CudaTarget : public Target {
public:
  /// Creates the target. `spec.arch` is a name such as `sm_80`, by default
  /// sm_90; an unsupported name is an error.
  static llvm::Expected<std::unique_ptr<Target>> create(const TargetSpec &spec,
                                                        const Machine &machine);

  Machine describeMachine() const override;
  llvm::StringRef findMachine(llvm::StringRef name) const override;
  LibrarySupport getSupport(LibraryCall call) const override;
  bool hasAttention(mlir::Type element) const override;
  std::string refuseAttention(const AttentionQuery &query) const override;
  bool prefersChannelsLast(LibraryCall call) const override;
  bool permutesFilters() const override { return true; }
  llvm::Expected<std::optional<Float8Matmuls>>
  getFloat8Matmuls(ScaleLayout layout) const override;
  RowAlignment getRowAlignment(mlir::Type element) const override;
  LossChunks getLossChunks(mlir::Type element) const override;
  const EpilogueLibrary *getEpilogueLibrary() const override;
  MatmulKernel describeMatmulKernel(LibraryCall call, int64_t readBytes,
                                    int64_t writtenBytes) const override;
  bool splitsReductions() const override { return true; }
  bool sumsRows(int64_t rows, int64_t length) const override;
  bool repeatsColumns() const override { return true; }
  bool hasTiles() const override { return true; }
  bool sharesRows() const override { return true; }
  int64_t getStagingBlocks() const override;
  int64_t getStreams() const override { return 2; }
  bool canRunBeside(mlir::Operation *op) const override;
  void addLegalization(mlir::OpPassManager &functions, LegalizationPoint point,
                       const LegalizationOptions &options) const override;
  void addKernelPipeline(mlir::OpPassManager &manager,
                         unsigned level) const override;
  void addDevicePipeline(mlir::OpPassManager &manager) const override {
    addDeviceFunctions(manager, getInstructions());
  }
  llvm::Expected<DeviceCode>
  emitDeviceCode(mlir::ModuleOp module) const override;
  HostProcessor getHost() const override;
  llvm::StringRef getRuntime() const override { return "cuda"; }
  runtime::TargetDescription describe() const override;

  int64_t getScratchBytes(mlir::Operation *op) const override;
  int64_t getBytesOfRank(mlir::Operation *op) const override;
  int64_t getAlignment() const override;
  /// Instructions that only GPUs have.
  struct Instructions {
    /// Rounding to bf16, and the approximation of 2^x.
    bool math = false;
    /// Rounding to 8-bit floats.
    bool float8 = false;
  };
  /// Adds the passes from placed steps to GPU functions in a `gpu.module`.
  static void addDeviceFunctions(mlir::OpPassManager &manager,
                                 const Instructions &instructions);

protected:
  using Target::Target;

private:
  llvm::StringRef getArch() const;
  /// Returns the compute capability, times ten.
  unsigned getCapability() const;
  Instructions getInstructions() const;
};

/// Registers the kind `cuda`.
void registerCudaTarget();
/// Registers `--ingot-cuda-kernels`.
void registerCudaPipelines();

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_CUDA_TARGET_CUDATARGET_H
