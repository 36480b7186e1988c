// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// GPU functions that encode payloads of compressed buckets, and sum decoded
// payloads (header private to this target). runtime/abi/Payload.h defines the
// format of payloads; here they consist of words of 32 bits.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_KERNELS_DEVICEMESSAGES_H
#define INGOT_PASSES_TARGETS_CUDA_KERNELS_DEVICEMESSAGES_H

#include "passes/targets/cuda/kernels/DeviceFunction.h"
#include "runtime/abi/Payload.h"

namespace ingot::codegen {

/// The buffers of an exchange, besides the bucket.
struct MessageBuffers {
  /// The arguments as in ingot_bucket_desc.
  static MessageBuffers of(mlir::MLIRContext *context, int32_t code,
                           int64_t elements, int64_t kept);
  /// Elements that a block of the encoding kernel examines.
  static int64_t getChunk(int64_t elements);

  mlir::MemRefType message;
  /// How many elements of the bucket are sent, for each block of the encoding
  /// kernel; null where all are.
  mlir::MemRefType counts;
};

class DeviceMessages : DeviceFunctionBuilder {
public:
  /// Creates a builder; `code`, `elements` and `kept` are those of
  /// ingot_bucket_desc.
  DeviceMessages(mlir::gpu::GPUModuleOp module, mlir::Location loc,
                 int32_t code, int64_t elements, int64_t kept);

  /// Return the types of the bucket, of a payload, and of the concatenated
  /// payloads of all ranks.
  mlir::MemRefType getBucketType();
  mlir::MemRefType getMessageType();
  mlir::MemRefType getMessagesType();
  /// Returns the type of the number of elements that each block of `encode`
  /// sends; null if all elements are sent.
  mlir::MemRefType getCountsType();

  /// Emits a function of the bucket and the counts, which counts the elements
  /// to send.
  DeviceLaunch emitCount(const llvm::Twine &name);
  /// Emits a function of the bucket, the counts if there are any, and the
  /// payload, which it encodes.
  DeviceLaunch emitEncode(const llvm::Twine &name);
  /// Emits a function of the payloads, the bucket and the range of ranks, which
  /// computes the sum of the payloads in the order of the ranks.
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
  /// Emits whether the element of the bucket exists and is sent.
  mlir::Value emitIsSent(mlir::Value element);
  /// Returns the first of a payload's top-k elements at or after `element`.
  mlir::Value findKept(mlir::Value messages, mlir::Value rank,
                       mlir::Value element);

  int32_t code;
  int64_t elements, kept;
  MessageBuffers types;
  /// The number of words of one payload.
  int64_t words;
  /// The number of elements that a block of `encode` processes.
  int64_t chunk;
};

} // namespace ingot::codegen

#endif // INGOT_PASSES_TARGETS_CUDA_KERNELS_DEVICEMESSAGES_H
