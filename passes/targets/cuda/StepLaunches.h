//===----------------------------------------------------------------------===//
//
// Launches of device functions in a step, and memory for them behind what is
// planned of its arena (header private to this target).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_STEPLAUNCHES_H
#define INGOT_PASSES_TARGETS_CUDA_STEPLAUNCHES_H

#include "dialects/exec/Exec.h"
#include "passes/targets/cuda/kernels/DeviceFunction.h"

namespace ingot::codegen {

/// The module of a step's device functions.
constexpr llvm::StringLiteral kDeviceModule = "device";

class StepLaunches {
public:
  explicit StepLaunches(exec::StepOp step);

  /// Buffers of these types for one call: others may have the same memory.
  llvm::SmallVector<mlir::Value> lend(mlir::OpBuilder &builder,
                                      mlir::Location loc,
                                      llvm::ArrayRef<mlir::MemRefType> types);
  /// A buffer that nothing else uses. Not after lend().
  mlir::Value reserve(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::MemRefType type);
  /// Makes the memory part of the step's.
  void finish();

  static mlir::SymbolRefAttr getSymbol(mlir::Builder &builder,
                                       const DeviceLaunch &grid);
  static exec::LaunchGridOp launch(mlir::OpBuilder &builder, mlir::Location loc,
                                   const DeviceLaunch &grid,
                                   mlir::ValueRange inputs,
                                   mlir::ValueRange outputs);

private:
  exec::StepOp step;
  int64_t planned, reserved, end;
};

} // namespace ingot::codegen

#endif // INGOT_PASSES_TARGETS_CUDA_STEPLAUNCHES_H
