// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/cuda/emit/StepLaunches.h"

#include "dialects/ingot/builders/Builders.h"
#include "passes/targets/cuda/kernels/ReductionSplit.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

FailureOr<SmallVector<Value>>
codegen::carveScratch(OpBuilder &builder, Operation *op,
                      exec::ScratchAttr scratch, ArrayRef<MemRefType> types) {
  int64_t bytes = countAlignedBytes(types);
  int64_t planned = scratch ? scratch.getBytes() : 0;
  if (bytes > planned)
    return op->emitOpError("has ")
           << planned << " bytes of scratch planned, but its kernels need "
           << bytes;
  SmallVector<Value> buffers;
  int64_t offset = scratch ? scratch.getOffset() : 0;
  for (MemRefType type : types) {
    buffers.push_back(exec::BufferOp::create(builder, op->getLoc(), type,
                                             exec::Space::Arena, offset));
    offset += countAlignedBytes(type);
  }
  return buffers;
}

SymbolRefAttr codegen::getDeviceSymbol(Builder &builder,
                                       const DeviceLaunch &grid) {
  MLIRContext *context = builder.getContext();
  return SymbolRefAttr::get(
      context, kDeviceModule,
      FlatSymbolRefAttr::get(context, grid.function.getValue()));
}

exec::LaunchGridOp codegen::createLaunch(OpBuilder &builder, Location loc,
                                         const DeviceLaunch &grid,
                                         ValueRange inputs,
                                         ValueRange outputs) {
  return exec::LaunchGridOp::create(
      builder, loc, getDeviceSymbol(builder, grid), inputs, outputs,
      /*flops=*/0, /*bytes=*/IntegerAttr(), grid.grid, grid.block, grid.shared,
      grid.anyGrid, /*extent=*/0,
      /*shard=*/ShardAttr());
}
