// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The `exec` calls of ops that an entry of the C ABI runs.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_LIBRARYCALLS_H
#define INGOT_PASSES_SCHEDULE_LIBRARYCALLS_H

#include "dialects/exec/Exec.h"
#include "dialects/ingot/target/Target.h"

namespace ingot {

/// The descriptor of a call, with what the target decides: how it multiplies.
CallDescriptor describeCall(LibraryCall op, const Target &target);

/// Emits the call of `op` at the builder's position. `inputs` and `outputs` are
/// the buffers of its operands and results, `scratch` is null or memory that
/// the call may work in.
void createLibraryCall(LibraryCall op, const CallDescriptor &descriptor,
                       mlir::ValueRange inputs, mlir::ValueRange outputs,
                       exec::ScratchAttr scratch, mlir::OpBuilder &builder);

/// Emits the call of one end of a bucket, whose parts are in its memory.
void createBucketCall(LibraryCall end, mlir::Value bucket, int64_t number,
                      exec::ScratchAttr scratch, mlir::OpBuilder &builder);

/// The buffer of planned scratch; null if there is none.
mlir::Value createScratch(mlir::OpBuilder &builder, mlir::Location loc,
                          exec::ScratchAttr scratch);

/// Copies a tensor to another place; with `shard`, of the elements in it only
/// those that the rank has.
void createCopy(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value from,
                mlir::Value to, ShardAttr shard);

/// The epilogue of a matmul: a kernel of kind `epilogue`, or none, and its
/// buffers beside the product.
struct EpilogueKernel {
  mlir::FlatSymbolRefAttr name;
  mlir::ValueRange inputs, outputs;
  /// As in exec.matmul_epilogue; null if there is none.
  mlir::FlatSymbolRefAttr extra;
  mlir::ValueRange extraInputs;
  mlir::Value extraOutput;
  /// The output in whose memory the product is.
  unsigned product;
  /// Of the whole.
  int64_t flops;
  /// As in exec.matmul_epilogue; null for what only the kernel can do.
  LibraryEpilogueAttr library;
};

/// Emits the call of `anchor`, an EpilogueAnchor, that hands its elements to a
/// kernel. `operands` are the buffers of the anchor's operands.
void createEpilogueCall(LibraryCall anchor, const CallDescriptor &descriptor,
                        mlir::ValueRange operands, const EpilogueKernel &kernel,
                        mlir::Value scratch, mlir::OpBuilder &builder);

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_LIBRARYCALLS_H
