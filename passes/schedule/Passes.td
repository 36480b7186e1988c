//===----------------------------------------------------------------------===//
//
// Schedule: from a graph of kernels to a step with placed memory.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_PASSES_TD
#define INGOT_PASSES_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def OutlineConstants : Pass<"ingot-outline-constants", "::mlir::ModuleOp"> {
  let summary = "makes constants with several values frozen states";
  let description = [{
    Assumes that constants of one value are in fusions (`--ingot-form-fusions`). Equal constants, of
    any function, share a state.

    Before:
    ```mlir
    %c = ingot.constant dense<[1.0, 2.0]> : tensor<2xf32>
    ```
    After:
    ```mlir
    ingot.state frozen @"constant/0" : tensor<2xf32> = dense<[1.0, 2.0]> : tensor<2xf32>
    func.func @forward(%c: tensor<2xf32> {ingot.state = @"constant/0"}) ...
    ```
  }];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def Rematerialize : Pass<"ingot-rematerialize", "::mlir::ModuleOp"> {
  let summary = "runs operations again in the backward pass until the peak fits a budget";
  let description = [{
    Assumes functions of fusions, library anchors and views only, and constants as states; runs on those with a
    result `loss`, in the order forward, then backward. Values that the peak keeps for later readers are computed
    again right before these, by the operations that made them: fusions, chains of them, library calls; the
    cheapest by time a byte first (`passes/cost`), until the planned arena and the states fit into
    `budget-bytes`, or the arena's activations into `budget-percent` of what they take without a budget. Operations
    that write states stay. Nothing is simplified afterwards, so that no copy is merged with its original; a copy
    runs the same kernel as its original, so that the results have the same bits.

    Plans of one model form a sequence that does not depend on the budget: a smaller budget never peaks
    higher. A budget below what is possible is an error that names the smallest possible one. `save` and
    `recompute` decide for operations of the ONNX nodes with matching names.

    Before:
    ```mlir
    %a = ingot.fusion loop(%x) : ...           // large
    %loss = ingot.fusion reduction(%a) : ...
    %g = ingot.matmul %a transposed, %d : ...
    ```
    After:
    ```mlir
    %a = ingot.fusion loop(%x) : ...
    %loss = ingot.fusion reduction(%a) : ...
    %again = ingot.fusion loop(%x) : ...
    %g = ingot.matmul %again transposed, %d : ...
    ```
  }];
  let options = [
    Option<"budgetBytes", "budget-bytes", "int64_t", "-1", "bytes of all planned memory at most">,
    Option<"budgetPercent", "budget-percent", "double", "-1", "activations at most, in percent">,
    Option<"save", "save", "std::string", "\"\"", "nodes never to compute again (regular expression)">,
    Option<"recompute", "recompute", "std::string", "\"\"", "nodes to compute again in any case (regular expression)">,
  ];
  let statistics = [
    Statistic<"numRecomputed", "recomputed", "operations that run again">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def OrderSteps : Pass<"ingot-order-steps", "::mlir::func::FuncOp"> {
  let summary = "puts operations in an order that needs little memory";
  let description = [{
    Assumes functions of fusions, library anchors and views only (`--ingot-form-fusions`). An
    operation that frees at least as much memory as it takes runs as soon as it can, so that the update
    of a parameter follows its gradient; one that takes more than it frees runs right before its first reader. The
    result never has more bytes live at once than the order that was. What is computed from states alone waits for their bucket
    (`state_gather_wait`) no earlier than the first operation that needs any of it. Functions that `--ingot-rematerialize` has
    put in order stay as they are. Updates of states stay behind every
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

def GroupKernels : Pass<"ingot-group-kernels", "::mlir::func::FuncOp"> {
  let summary = "runs small loops that read nothing of each other as one kernel";
  let description = [{
    Assumes functions of fusions, library anchors and views only, in the order in which they run
    (`--ingot-order-steps`). Most of what a step of a small network does after its backward pass are
    updates of parameters: loops of a few microseconds each, as many as there are parameters and most of their time
    the start of a kernel. A loop fusion waits for a later one, and becomes a part of the same `group`, where the start that
    this saves (`launch_seconds` of the machine) is

    - at least one part in 50 of the loop's own time,
    - more than what it costs to read operands again that have left the cache by then,

    and where nothing in between reads the loop's results, and the memory that its operands take until then
    does not raise the peak. Nothing waits across the end of a collective, so that updates of one bucket are not held up by
    the next bucket. The arena is never larger than without groups.

    Before:
    ```mlir
    %n1 = ingot.fusion loop(%w1, %g1) : ...
    %g0 = ingot.matmul %x, %d0 : ...
    %n0 = ingot.fusion loop(%w0, %g0) : ...
    ```
    After:
    ```mlir
    %g0 = ingot.matmul %x, %d0 : ...
    %n1, %n0 = ingot.fusion group(%w1, %g1, %w0, %g0) : ... {
    ^bb0(%a: ..., %b: ..., %c: ..., %d: ...):
      %0 = ingot.fusion loop(%a, %b) : ...
      %1 = ingot.fusion loop(%c, %d) : ...
      ingot.yield %0, %1 : ...
    }
    ```
  }];
  let options = [
    Option<"maxBuffers", "max-buffers", "unsigned", "240", "operands and results of one group at most">,
  ];
  let statistics = [
    Statistic<"numGroups", "groups", "groups formed">,
    Statistic<"numGrouped", "grouped", "loops in groups">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def PlaceSteps : Pass<"ingot-place-steps", "::mlir::ModuleOp"> {
  let summary = "places every tensor in memory and turns functions into `exec` steps";
  let description = [{
    Assumes functions of fusions, library anchors and views only (`--ingot-form-fusions`,
    `--ingot-outline-constants`), and keeps their order. States get fixed places in the state block. Every other stored tensor gets a
    place in the arena for as long as it lives (offsets by best fit, largest first), and so does the memory
    that a library call works in on the module's machine (runtime/abi/Scratch.h); views share their operand's
    place. A result that replaces a state is written in the
    state's own place where nothing reads the old value any more but the very kernel that writes
    it, element by element; otherwise it is copied at the end. Equal fusions become one `exec.kernel`.

    On a device (the module's machine), inputs come through blocks beside the arena, so that those of the next step are
    copied while a step runs: `staging_bytes`, which count as workspace.

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
    exec.step @train_step attributes {arena_bytes = 128 : i64, inputs = [...], outputs = [...]} {
      %0 = exec.buffer arena 0 : memref<8xf32>
      %1 = exec.buffer arena 64 : memref<8xf32>
      exec.launch @kernel_0(%0) -> (%1) {flops = 8 : i64} : memref<8xf32> -> memref<8xf32>
    }
    ```
  }];
  let options = [
    Option<"noReuse", "no-reuse", "bool", "false", "give every tensor its own place">,
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
