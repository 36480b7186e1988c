// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Lowering of GPU kernels to functions that an emulator runs on the CPU.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_EMULATOR_PASSES_TD
#define INGOT_PASSES_TARGETS_EMULATOR_PASSES_TD

include "mlir/Pass/PassBase.td"

def EmulateKernels : Pass<"ingot-emulate-kernels", "::mlir::ModuleOp"> {
  let summary = "lowers GPU functions to functions that an emulator runs on the CPU";
  let description = [{
    A GPU function becomes a function of its buffers, of the shared memory of a block, of the thread and of the block.
    Every access is reported to the emulator (runtime/emulator), which checks it against the bounds of the buffer and
    for races with other threads; barriers and shuffles become calls of the emulator. The code in between is what the
    GPU runs.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect"
  ];
}

#endif // INGOT_PASSES_TARGETS_EMULATOR_PASSES_TD
