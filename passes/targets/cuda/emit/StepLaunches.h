// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Launches of GPU functions in a step, and their planned scratch memory (header
// private to this target).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_EMIT_STEPLAUNCHES_H
#define INGOT_PASSES_TARGETS_CUDA_EMIT_STEPLAUNCHES_H

#include "dialects/exec/Exec.h"
#include "passes/targets/cuda/kernels/DeviceFunction.h"

namespace ingot::codegen {

/// The name of the module of a step's GPU functions.
constexpr llvm::StringLiteral kDeviceModule = "device";

/// Returns consecutive buffers of these types from the begin of `scratch` on;
/// empty, with an error at `op`, if it is too small.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
carveScratch(mlir::OpBuilder &builder, mlir::Operation *op,
             exec::ScratchAttr scratch, llvm::ArrayRef<mlir::MemRefType> types);

mlir::SymbolRefAttr getDeviceSymbol(mlir::Builder &builder,
                                    const DeviceLaunch &grid);
exec::LaunchGridOp createLaunch(mlir::OpBuilder &builder, mlir::Location loc,
                                const DeviceLaunch &grid,
                                mlir::ValueRange inputs,
                                mlir::ValueRange outputs);

} // namespace ingot::codegen

#endif // INGOT_PASSES_TARGETS_CUDA_EMIT_STEPLAUNCHES_H
