//===----------------------------------------------------------------------===//
//
// Device kernels as functions that an emulator runs on the CPU.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_EMULATOR_PASSES_TD
#define INGOT_PASSES_TARGETS_EMULATOR_PASSES_TD

include "mlir/Pass/PassBase.td"

def EmulateKernels : Pass<"ingot-emulate-kernels", "::mlir::ModuleOp"> {
  let summary = "turns device functions into functions that an emulator runs on the CPU";
  let description = [{
    A device function becomes a function of its buffers, the memory that a block shares, the
    thread and the block. Every access is announced to the emulator (runtime/emulator), which
    checks it against the buffer's bounds and against what other threads do without a barrier in between;
    barriers and shuffles are calls of it. The code between is what the device runs.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect"
  ];
}

#endif // INGOT_PASSES_TARGETS_EMULATOR_PASSES_TD
