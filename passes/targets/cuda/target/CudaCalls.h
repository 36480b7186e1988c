// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The calls of cuBLASLt and cuDNN.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_TARGET_CUDACALLS_H
#define INGOT_PASSES_TARGETS_CUDA_TARGET_CUDACALLS_H

#include "dialects/ingot/target/TargetCalls.h"
#include "passes/targets/cuda/target/GpuSpec.h"

namespace ingot {

class CudaCalls : public TargetCalls {
public:
  explicit CudaCalls(const GpuSpec &gpu) : gpu(gpu) {}

  LibrarySupport getSupport(LibraryCall call) const override;
  bool hasAttention(mlir::Type element) const override;
  std::string refuseAttention(const AttentionQuery &query) const override;
  bool prefersChannelsLast(LibraryCall call) const override;
  bool permutesFilters() const override { return true; }
  llvm::Expected<std::optional<Float8Matmuls>>
  getFloat8Matmuls(ScaleLayout layout) const override;
  RowAlignment getRowAlignment(mlir::Type element) const override;
  LossChunks getLossChunks(mlir::Type element) const override;

protected:
  const GpuSpec &gpu;
};

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_CUDA_TARGET_CUDACALLS_H
