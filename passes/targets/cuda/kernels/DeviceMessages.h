//===----------------------------------------------------------------------===//
//
// Device functions that make messages of buckets with a code, and add messages
// up (header private to this target). What is in a message: runtime/abi/
// Message.h; here it is words of 32 bits.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_KERNELS_DEVICEMESSAGES_H
#define INGOT_PASSES_TARGETS_CUDA_KERNELS_DEVICEMESSAGES_H

#include "passes/targets/cuda/kernels/DeviceFunction.h"
#include "runtime/abi/Message.h"

namespace ingot::codegen {

class DeviceMessages : DeviceFunctionBuilder {
public:
  /// `code`, `elements` and `kept` as in ingot_bucket_desc.
  DeviceMessages(mlir::gpu::GPUModuleOp module, mlir::Location loc,
                 int32_t code, int64_t elements, int64_t kept);

  /// Returns the bucket, a message, and messages of all ranks, one after the
  /// other.
  mlir::MemRefType getBucketType();
  mlir::MemRefType getMessageType();
  mlir::MemRefType getMessagesType();
  /// Returns how many elements of the bucket are sent, for each block of
  /// `encode`; null where all are.
  mlir::MemRefType getCountsType();

  /// Emits a function of the bucket and the counts.
  DeviceLaunch emitCount(const llvm::Twine &name);
  /// Emits a function of the bucket, the counts if there are any, and the
  /// message.
  DeviceLaunch emitEncode(const llvm::Twine &name);
  /// Emits a function of the messages, the bucket and the range of ranks: the
  /// bucket becomes the sum of what these sent, in their order.
  DeviceLaunch emitDecode(const llvm::Twine &name);

private:
  DeviceLaunch encodeIntegers(const llvm::Twine &name);
  DeviceLaunch decodeIntegers(const llvm::Twine &name);
  DeviceLaunch encodeKept(const llvm::Twine &name);
  DeviceLaunch decodeKept(const llvm::Twine &name);

  mlir::Value word(int64_t value);
  mlir::Value toWord(mlir::Value number);
  mlir::Value toNumber(mlir::Value word);
  mlir::Value toIndex(mlir::Value word);
  mlir::Value fromIndex(mlir::Value index);
  /// Emits whether there is such an element of the bucket, and it is sent.
  mlir::Value emitIsSent(mlir::Value element);
  /// Returns the sum of a number of each thread of the block, and that of the
  /// threads before this one. All threads of the block call it.
  std::pair<mlir::Value, mlir::Value> sumBlock(mlir::Value value,
                                               mlir::Value shared);
  /// Returns the first of a message's kept elements that is `element` or one
  /// behind.
  mlir::Value findKept(mlir::Value messages, mlir::Value rank,
                       mlir::Value element);

  int32_t code;
  int64_t elements, kept;
  /// Of one message.
  int64_t words;
  /// Elements that a block of `encode` looks through.
  int64_t chunk;
};

} // namespace ingot::codegen

#endif // INGOT_PASSES_TARGETS_CUDA_KERNELS_DEVICEMESSAGES_H
