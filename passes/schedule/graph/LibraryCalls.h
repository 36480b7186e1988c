// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Creates the `exec` calls of ops that an entry point of the C ABI executes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_GRAPH_LIBRARYCALLS_H
#define INGOT_PASSES_SCHEDULE_GRAPH_LIBRARYCALLS_H

#include "dialects/exec/Exec.h"
#include "dialects/ingot/target/Target.h"

namespace ingot {

/// Returns the descriptor of a call, with the target's decision on the math
/// mode.
CallDescriptor describeCall(LibraryCall op, const Target &target);

/// Creates the call of `op` at the insertion point of the builder. `inputs` and
/// `outputs` are the buffers of its operands and results, `scratch` is null or
/// scratch memory of the call.
void createLibraryCall(LibraryCall op, const CallDescriptor &descriptor,
                       mlir::ValueRange inputs, mlir::ValueRange outputs,
                       exec::ScratchAttr scratch, mlir::OpBuilder &builder);

/// Creates the call of one end of a bucket, whose parts are in its memory.
void createBucketCall(LibraryCall end, mlir::Value bucket, int64_t number,
                      exec::ScratchAttr scratch, mlir::OpBuilder &builder);

/// Returns the buffer of planned scratch memory; null if there is none.
mlir::Value createScratch(mlir::OpBuilder &builder, mlir::Location loc,
                          exec::ScratchAttr scratch);

/// Copies a tensor; with `shard`, only those of its elements that are in the
/// rank's shard.
void createCopy(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value from,
                mlir::Value to, ShardAttr shard);

/// The epilogue of a matmul: a kernel of kind `epilogue`, or none, and its
/// buffers besides the matmul's result.
struct EpilogueKernel {
  mlir::FlatSymbolRefAttr name;
  mlir::ValueRange inputs, outputs;
  /// The extra result of exec.matmul_epilogue; null if there is none.
  mlir::FlatSymbolRefAttr extra;
  mlir::ValueRange extraInputs;
  mlir::Value extraOutput;
  /// The output whose memory contains the matmul's result.
  unsigned product;
  /// The floating-point operations of the call with its epilogue.
  int64_t flops;
  /// The epilogue of exec.matmul_epilogue; null if only the kernel can compute
  /// it.
  LibraryEpilogueAttr library;
};

/// Creates the call of `anchor`, an EpilogueAnchor, with a kernel as its
/// epilogue. `operands` are the buffers of the anchor's operands.
void createEpilogueCall(LibraryCall anchor, const CallDescriptor &descriptor,
                        mlir::ValueRange operands, const EpilogueKernel &kernel,
                        mlir::Value scratch, mlir::OpBuilder &builder);

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_GRAPH_LIBRARYCALLS_H
