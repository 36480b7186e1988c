// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The work of the threads of a GPU function, counted in its loops.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_COST_GPU_KERNELWORK_H
#define INGOT_PASSES_COST_GPU_KERNELWORK_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/cost/gpu/GpuModel.h"
#include "llvm/ADT/SmallVector.h"

namespace ingot::gpu_model {

/// The work of a function, and how often it reads each of its buffers whole.
struct FunctionWork {
  KernelWork kernel;
  /// By argument; below 1 where only a part is read, 0 where nothing is.
  llvm::SmallVector<double> passes;
};

/// Counts the work of `blocks` blocks. Indices are taken at their averages over
/// threads and iterations.
FunctionWork countWork(mlir::gpu::GPUFuncOp function, int64_t blocks,
                       int64_t threadsPerBlock, int64_t sharedBytes);

} // namespace ingot::gpu_model

#endif // INGOT_PASSES_COST_GPU_KERNELWORK_H
