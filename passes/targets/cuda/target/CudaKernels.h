// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The kernels that are generated for NVIDIA GPUs.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_TARGET_CUDAKERNELS_H
#define INGOT_PASSES_TARGETS_CUDA_TARGET_CUDAKERNELS_H

#include "dialects/ingot/target/TargetKernels.h"
#include "passes/targets/cuda/target/GpuSpec.h"

namespace ingot {

class CudaKernels : public TargetKernels {
public:
  explicit CudaKernels(const GpuSpec &gpu) : gpu(gpu) {}

  const EpilogueLibrary *getEpilogueLibrary() const override;
  MatmulKernel describeMatmulKernel(LibraryCall call, int64_t readBytes,
                                    int64_t writtenBytes) const override;
  MatmulChoice getMatmulChoice() const override;
  bool splitsReductions() const override { return true; }
  bool sumsRows(int64_t rows, int64_t length) const override;
  bool repeatsColumns() const override { return true; }
  bool hasTiles() const override { return true; }
  bool sharesRows() const override { return true; }

private:
  const GpuSpec &gpu;
};

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_CUDA_TARGET_CUDAKERNELS_H
