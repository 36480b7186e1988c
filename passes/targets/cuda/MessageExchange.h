// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Exchanges of buckets with a code, on devices: kernels make and read messages
// (header private to this target).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_MESSAGEEXCHANGE_H
#define INGOT_PASSES_TARGETS_CUDA_MESSAGEEXCHANGE_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/targets/cuda/StepLaunches.h"
#include "passes/targets/cuda/kernels/DeviceMessages.h"

#include <map>

namespace ingot::codegen {

class MessageExchange {
public:
  MessageExchange(mlir::ModuleOp module, mlir::gpu::GPUModuleOp device);

  /// Replaces all exchanges of buckets with a code in the step.
  llvm::LogicalResult lower(exec::StepOp step);
  /// Says in `exec.messages` what memory the exchanges need.
  void finish();

  int64_t countKernels() const { return numKernels; }

private:
  struct Kernels {
    DeviceLaunch count, encode, decode;
    mlir::MemRefType message, messages, counts;
  };
  const Kernels &getKernels(exec::CallOp call);
  mlir::Value getMessages(exec::CallOp call, mlir::OpBuilder &builder);
  llvm::LogicalResult lowerStart(exec::CallOp start);
  void lowerWait(exec::CallOp wait);

  mlir::ModuleOp module;
  mlir::gpu::GPUModuleOp device;
  /// Of buckets with the same code, elements and kept elements.
  std::map<std::array<int64_t, 3>, Kernels> kernels;
  int64_t numKernels = 0;
  /// Where the first address is in the table, and bytes of a rank's message for
  /// each.
  int64_t firstAddress = 0;
  llvm::SmallVector<int64_t> messageBytes;
  /// Of the step's buckets by number: which of these places they use.
  llvm::DenseMap<int64_t, size_t> places;
};

} // namespace ingot::codegen

#endif // INGOT_PASSES_TARGETS_CUDA_MESSAGEEXCHANGE_H
