//===----------------------------------------------------------------------===//
//
// Which `exec` call runs a library anchor.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_LIBRARYCALLS_H
#define INGOT_PASSES_SCHEDULE_LIBRARYCALLS_H

#include "mlir/IR/Builders.h"
#include "runtime/abi/Scratch.h"

namespace ingot {

/// Emits the call of `anchor`, a LibraryCall, at the
/// builder's position. `inputs` and `outputs` are the buffers of its operands
/// and results, `scratch` is null or memory that the call may work in, on
/// `machine`.
void createLibraryCall(mlir::Operation *anchor, mlir::ValueRange inputs,
                       mlir::ValueRange outputs, mlir::Value scratch,
                       const abi::ScratchMachine &machine,
                       mlir::OpBuilder &builder);

/// Emits the call of one end of a bucket, whose parts are in its memory.
void createBucketCall(mlir::Operation *end, mlir::Value bucket, int64_t number,
                      mlir::OpBuilder &builder);

/// What finishes a product: a kernel of kind `epilogue`, or none, and its
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
  /// Where the product is computed.
  bool onTiles;
  /// As in exec.matmul_epilogue; null for what only the kernel can do.
  mlir::DenseI64ArrayAttr library;
};

/// Whether an anchor's product runs on the tile units of `machine`.
bool isOnTiles(mlir::Operation *anchor, const abi::ScratchMachine &machine);

/// Emits the call of `anchor`, an EpilogueAnchor, that hands its elements to a
/// kernel. `operands` are the buffers of the anchor's operands.
void createEpilogueCall(mlir::Operation *anchor, mlir::ValueRange operands,
                        const EpilogueKernel &kernel, mlir::Value scratch,
                        mlir::OpBuilder &builder);

/// Bytes that the call of an anchor works in, alone or in an epilogue fusion; 0
/// for other ops.
int64_t getScratchBytes(mlir::Operation *op,
                        const abi::ScratchMachine &machine);

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_LIBRARYCALLS_H
