// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Exchanges of compressed buckets on GPUs: kernels encode and decode payloads
// (header private to this target).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_EMIT_MESSAGEEXCHANGE_H
#define INGOT_PASSES_TARGETS_CUDA_EMIT_MESSAGEEXCHANGE_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/targets/cuda/emit/StepLaunches.h"
#include "passes/targets/cuda/kernels/DeviceMessages.h"

#include <map>

namespace ingot::codegen {

class MessageExchange {
public:
  MessageExchange(mlir::ModuleOp module, mlir::gpu::GPUModuleOp device);

  /// Replaces all exchanges of compressed buckets in the step.
  llvm::LogicalResult lower(exec::StepOp step);
  /// Records in `exec.messages` the memory that the exchanges need.
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
  /// The kernels of buckets with the same format, number of elements and k.
  std::map<std::array<int64_t, 3>, Kernels> kernels;
  int64_t numKernels = 0;
  /// The offset of the first address in the table, and the bytes of a rank's
  /// payload for each.
  int64_t firstAddress = 0;
  llvm::SmallVector<int64_t> messageBytes;
  /// The entry that each bucket of the step uses, by the bucket's number.
  llvm::DenseMap<int64_t, size_t> places;
};

} // namespace ingot::codegen

#endif // INGOT_PASSES_TARGETS_CUDA_EMIT_MESSAGEEXCHANGE_H
