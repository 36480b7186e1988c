//===----------------------------------------------------------------------===//
//
// Schedule: from a graph of kernels to a step with placed memory.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_PASSES_TD
#define INGOT_PASSES_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def OrderSteps : Pass<"ingot-order-steps", "::mlir::func::FuncOp"> {
  let summary = "puts operations in an order that needs little memory";
  let description = [{
    Assumes functions of fusions, library anchors and views only (`--ingot-form-fusions`). An
    operation that frees at least as much memory as it takes runs as soon as it can, so that the update
    of a parameter follows its gradient; one that takes more than it frees runs right before its first reader. The
    result never has more bytes live at once than the order that was. Updates of states stay behind every
    reader of the old value.

    Before:
    ```mlir
    %g1 = ingot.matmul %a, %d1 : ...
    %d0 = ingot.matmul %d1, %w1 : ...
    %g0 = ingot.matmul %x, %d0 : ...
    %n1 = ingot.fusion loop(%w1, %g1) : ...
    %n0 = ingot.fusion loop(%w0, %g0) : ...
    ```
    After:
    ```mlir
    %d0 = ingot.matmul %d1, %w1 : ...
    %g1 = ingot.matmul %a, %d1 : ...
    %n1 = ingot.fusion loop(%w1, %g1) : ...
    %g0 = ingot.matmul %x, %d0 : ...
    %n0 = ingot.fusion loop(%w0, %g0) : ...
    ```
  }];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def PlaceSteps : Pass<"ingot-place-steps", "::mlir::ModuleOp"> {
  let summary = "places every tensor in memory and turns functions into `exec` steps";
  let description = [{
    Assumes functions of fusions, library anchors and views only
    (`--ingot-form-fusions`), and keeps their order. States get fixed places in the state block, constants
    with several values become frozen states. Every other stored tensor gets a
    place in the arena for as long as it lives (offsets by best fit, largest first), and so does the memory
    that a library call works in, for `threads` threads (runtime/abi/Scratch.h); views share their operand's
    place. A result that replaces a state is written in the
    state's own place where nothing reads the old value any more but the very kernel that writes
    it, element by element; otherwise it is copied at the end. Equal fusions become one `exec.kernel`.

    With `no-reuse`, places in the arena are never used twice.

    Before:
    ```mlir
    func.func @train_step(%x: tensor<8xf32> {ingot.kind = "data", ingot.name = "x"}) -> (tensor<8xf32> {ingot.name = "y"}) {
      %0 = ingot.fusion loop(%x) : (tensor<8xf32>) -> tensor<8xf32> { ... }
      return %0 : tensor<8xf32>
    }
    ```
    After:
    ```mlir
    exec.kernel "loop" @kernel_0 aliases = [-1] { ... }
    func.func @train_step() attributes {exec.arena_bytes = 128 : i64, exec.inputs = [...], exec.outputs = [...]} {
      %0 = exec.buffer arena 0 : memref<8xf32>
      %1 = exec.buffer arena 64 : memref<8xf32>
      exec.launch @kernel_0(%0) -> (%1) {flops = 8 : i64} : memref<8xf32> -> memref<8xf32>
      return
    }
    ```
  }];
  let options = [
    Option<"noReuse", "no-reuse", "bool", "false", "give every tensor its own place">,
    Option<"threads", "threads", "int64_t", "1", "threads that library calls run on">,
    Option<"multipliesBf16", "multiplies-bf16", "bool", "false", "the machine multiplies bf16">,
    Option<"workspace", "workspace", "int64_t", "0", "bytes for each library call on a device">,
    Option<"multipliesF16", "multiplies-f16", "bool", "false", "the machine multiplies f16">,
  ];
  let statistics = [
    Statistic<"numKernels", "kernels", "different kernels">,
    Statistic<"numLaunches", "launches", "launches and library calls">,
    Statistic<"numInPlace", "states-in-place", "states updated in place">,
    Statistic<"numCopied", "states-copied", "states updated by a copy">,
  ];
  let dependentDialects = ["::ingot::IngotDialect", "::ingot::exec::ExecDialect"];
}

#endif // INGOT_PASSES_SCHEDULE_PASSES_TD
