// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Scheduling passes, from a graph of kernels to a step with placed memory.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_PASSES_TD
#define INGOT_PASSES_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def MergeVariants : Pass<"ingot-merge-variants", "::mlir::ModuleOp"> {
  let summary = "moves the functions of all variants of a model into one module";
  let description = [{
    Assumes a module of modules, one for each combination of sizes of symbolic dimensions, each named after its sizes.
    Their functions, which `[NAME]` is appended to, get the states and attributes of the first: all train the same
    states. Variants that disagree on the type of a state, and such whose batches have the same shapes, are errors of
    the option `dim`.

    Before:
    ```mlir
    module {
      module @"seq=3" { ingot.state parameter @w : ...  func.func @train_step(...) }
      module @"seq=7" { ingot.state parameter @w : ...  func.func @train_step(...) }
    }
    ```
    After:
    ```mlir
    module attributes {ingot.variants = ["seq=3", "seq=7"]} {
      ingot.state parameter @w : ...
      func.func @"train_step[seq=3]"(...)
      func.func @"train_step[seq=7]"(...)
    }
    ```
  }];
}

def OutlineConstants : Pass<"ingot-outline-constants", "::mlir::ModuleOp"> {
  let summary = "turns constants other than splats into frozen states";
  let description = [{
    Assumes that splats are in fusions (`--ingot-form-fusions`). Equal constants, in any function, share a state.

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

def MapStates : Pass<"ingot-map-states", "::mlir::ModuleOp"> {
  let summary = "leaves states that no step changes in the weights";
  let description = [{
    Assumes that all states and their readers are there. Frozen states with other values than one for all elements,
    and 16-bit copies of them, get the attribute `exec.home`: `file` where no function reads the state, because only a
    copy is read, and `mapped` for others of `least-bytes` and more where the weights are a file beside the trainer
    (`exec.weights_file`) and the target works in the host's memory.

    Before:
    ```mlir
    module attributes {exec.weights_file} {
      ingot.state frozen @w : tensor<256x256xf32> = dense_resource<w> : tensor<256x256xf32>
      func.func @forward(%w: tensor<256x256xf32> {ingot.state = @w}) ...
    ```
    After:
    ```mlir
      ingot.state frozen @w : tensor<256x256xf32> = dense_resource<w> : tensor<256x256xf32> {exec.home = "mapped"}
    ```
  }];
  let dependentDialects = ["::ingot::IngotDialect", "::ingot::exec::ExecDialect"];
  let options = [
    Option<"leastBytes", "least-bytes", "int64_t", "16384", "The size from which on a state is mapped.">];
  let statistics = [
    Statistic<"numMapped", "num-mapped", "states that are mapped">,
    Statistic<"numInFile", "num-in-file", "states that have no memory">];
}

def Rematerialize : Pass<"ingot-rematerialize", "::mlir::ModuleOp"> {
  let summary = "recomputes values in the backward pass until the peak fits a budget";
  let description = [{
    Assumes functions that consist of fusions, library calls and views, and constants as states; runs on those with a
    result `loss`, in the order forward, then backward. Values that are live at the peak for later readers are
    recomputed right before these readers, by the operations that computed them: fusions, chains of them, library
    calls; those with the least time per byte first (`passes/cost`), until the planned arena and the states fit into
    `memory-budget`; a budget in percent is of the size of the activations in the arena without a budget. Operations
    that write states are not repeated. Nothing is simplified afterwards, so that no copy is merged with its original;
    a copy runs the same kernel as its original, so that the results are bitwise equal.

    The plans of a model form a sequence that does not depend on the budget: a smaller budget never has a higher peak.
    A budget below the smallest possible one is an error that states the latter; with `at-least:` before it, the
    smallest possible one is taken instead. `remat` decides for operations of the ONNX nodes with matching names.

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
    Option<"memoryBudget", "memory-budget", "::ingot::MemorySize", "",
           "limit: SIZE of all planned memory, or N% of the activations without a budget; "
           "at-least:SIZE or at-least:N%: that, or the smallest possible if it is larger">,
    ListOption<"remat", "remat", "::ingot::RematRule",
               "save=REGEX or recompute=REGEX: ONNX nodes whose results are never, or always, recomputed">,
  ];
  let statistics = [
    Statistic<"numRecomputed", "recomputed", "operations that are recomputed">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def OrderSteps : Pass<"ingot-order-steps", "::mlir::func::FuncOp"> {
  let summary = "reorders operations to reduce peak memory";
  let description = [{
    Assumes functions that consist of fusions, library calls and views (`--ingot-form-fusions`). An operation that
    frees at least as much memory as it allocates runs as soon as possible, so that the update of a parameter follows
    its gradient; one that allocates more than it frees runs right before its first reader. The result never has more
    live bytes than the previous order. Values that are derived from states only wait for the bucket of these states
    (`state_gather_wait`) no earlier than the first operation that needs one of them. Functions that
    `--ingot-rematerialize` has ordered are left alone. Updates of states stay after all readers of the old value.

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

def PlaceGathers : Pass<"ingot-place-gathers", "::mlir::func::FuncOp"> {
  let summary = "gathers parameters ahead of their readers, and again where memory does not keep them";
  let description = [{
    Works on functions of kernels in their final order, whose parameters are shards
    (`--ingot-shard-updates=parameters`). At most as many bytes of gathered parameters are in memory as two of the
    largest buckets take: one whose readers run, and one that is in flight meanwhile. A bucket that is needed when
    there is no room takes the place of the one whose next reader is the last to come, which is gathered again for
    that reader (Belady, "A study of replacement algorithms for a virtual-storage computer", 1966). Each all-gather
    starts as soon as there is room for it, in the order of the first readers. The smallest buckets stay in memory,
    if all of these take little beside the largest.

    With a `memory-budget` in bytes, there is room for as many of the largest buckets as the arena has beside
    everything else: with more memory, buckets are gathered less often, down to once.

    A remark says for each bucket how often it is gathered.

    Before:
    ```mlir
    %b = ingot.all_gather_start %w : (tensor<96xf32>) -> tensor<96xf32>
    %whole = ingot.all_gather_wait %b : (tensor<96xf32>) -> tensor<96xf32>
    // readers in the forward pass, those of other buckets, and readers in the backward pass
    ```
    After:
    ```mlir
    %b = ingot.all_gather_start %w : (tensor<96xf32>) -> tensor<96xf32>
    %whole = ingot.all_gather_wait %b : (tensor<96xf32>) -> tensor<96xf32>
    // readers in the forward pass, and those of other buckets
    %c = ingot.all_gather_start %w : (tensor<96xf32>) -> tensor<96xf32>
    %again = ingot.all_gather_wait %c : (tensor<96xf32>) -> tensor<96xf32>
    // readers in the backward pass
    ```
  }];
  let options = [
    Option<"buckets", "buckets", "unsigned", "2", "the largest buckets that there is room for">,
    Option<"memoryBudget", "memory-budget", "::ingot::MemorySize", "",
           "what the planned memory may have, which makes room for more buckets; a percentage does not">,
  ];
  let statistics = [
    Statistic<"numGathers", "gathers", "all-gathers of parameters">,
    Statistic<"numAgain", "again", "buckets that are gathered more than once">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def GroupKernels : Pass<"ingot-group-kernels", "::mlir::func::FuncOp"> {
  let summary = "groups small independent loops into one kernel";
  let description = [{
    Assumes functions that consist of fusions, library calls and views, in execution order (`--ingot-order-steps`).
    After its backward pass, a step of a small network mostly updates parameters: one loop of a few microseconds per
    parameter, most of which is the launch of a kernel. A loop fusion is delayed to a later one, and joins the same
    `group`, where the launch that this saves (`launch_seconds` of the machine) takes

    - at least 1/50 of the loop's own time, or a third on targets with several streams (`--ingot-assign-streams`), and
    - more time than reading operands again that have been evicted from the cache by then,

    and where nothing in between reads the results of the loop, and the memory that its operands take until then does
    not raise the peak. No loop is delayed past the end of a collective, so that updates of one bucket do not wait for
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
    Option<"maxBuffers", "max-buffers", "unsigned", "240", "maximum number of operands and results of a group">,
  ];
  let statistics = [
    Statistic<"numGroups", "groups", "groups formed">,
    Statistic<"numGrouped", "grouped", "loops in groups">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def OverlapExchanges : Pass<"ingot-overlap-exchanges", "::mlir::func::FuncOp"> {
  let summary = "exchanges between ranks are in flight while the step computes";
  let description = [{
    Assumes functions that consist of fusions, library calls and views, in execution order (`--ingot-order-steps`). Each
    exchange begins as soon as its operand is there, and operations that do not need it come before the first one that
    does, by list scheduling over two resources, what computes and the link: in a backward pass, the gradient of a
    weight is computed while the gradient of the layer's input is added up. An exchange with enough behind it becomes a
    region of its own (`--ingot-assign-streams`), which is waited for before its first reader.

    Operations are moved from less far away, and exchanges are not left in flight, where the arena would grow by more
    than `max-growth` percent, or `free-bytes`. A function that waits for states of other ranks keeps its order.

    Before:
    ```mlir
    %d = ingot.matmul %g, %w : ...
    %sum = ingot.all_reduce sum %d over [tensor] : ...
    %next = ingot.fusion loop(%sum) : ...
    %dw = ingot.matmul %x, %g : ...
    ```
    After:
    ```mlir
    %d = ingot.matmul %g, %w : ...
    %sum = ingot.all_reduce sum %d over [tensor] {ingot.side = 0 : i64} : ...
    %dw = ingot.matmul %x, %g : ...
    %next = ingot.fusion loop(%sum) : ...
    ```
  }];
  let options = [
    Option<"maxGrowth", "max-growth", "unsigned", "3", "percent by which the arena may grow">,
    Option<"freeBytes", "free-bytes", "unsigned", "1 << 25", "bytes by which it may grow in any case">,
  ];
  let statistics = [Statistic<"numInFlight", "in-flight", "exchanges in flight while the step computes">];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def AssignStreams : Pass<"ingot-assign-streams", "::mlir::func::FuncOp"> {
  let summary = "moves operations off the critical path to a second stream";
  let description = [{
    Assumes functions that consist of fusions, library calls and views, in execution order (`--ingot-order-steps`), and
    does something only on targets with several streams. An operation can wait if the function would not take longer
    were it to start later by at least its own time: gradients of weights and updates of parameters in a backward pass,
    the shorter branch of a residual block. A run of such operations becomes a region, whose number `ingot.side` says.
    Updates are moved to right after what they need first. Bodies of loops, which are private functions, stay as they
    are. A region starts when all operations before it are done, runs concurrently with those after it, and is waited
    for

    - before the first operation that reads what it writes, or writes what it reads,
    - before the second region after it starts, and
    - at the end of the function.

    A run whose first results are needed before all of it is done, such as one that quantizes all weights, is put into
    the order in which its results are needed, and is divided into regions that are waited for one by one; they count as
    one region that starts.

    What a region uses is live until then, so that the arena may grow by `max-growth` percent, or `free-bytes`; regions
    that would take more are left out, those at the peak first. Exchanges between ranks stay where they are, and
    functions that wait for states of other ranks, or have exchanges in flight (`--ingot-overlap-exchanges`), are left
    alone.

    Before:
    ```mlir
    %g1 = ingot.matmul %a, %d1 : ...
    %n1 = ingot.fusion loop(%w1, %g1) : ...
    %d0 = ingot.matmul %d1, %w1 : ...
    ```
    After:
    ```mlir
    %g1 = ingot.matmul %a, %d1 {ingot.side = 0 : i64} : ...
    %n1 = ingot.fusion loop(%w1, %g1) {ingot.side = 0 : i64} : ...
    %d0 = ingot.matmul %d1, %w1 : ...
    ```
  }];
  let options = [
    Option<"maxGrowth", "max-growth", "unsigned", "3", "percent by which the arena may grow">,
    Option<"freeBytes", "free-bytes", "unsigned", "1 << 25", "bytes by which it may grow in any case">,
  ];
  let statistics = [
    Statistic<"numRegions", "regions", "regions concurrent with other operations">,
    Statistic<"numBeside", "beside", "operations in regions">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def PlaceSteps : Pass<"ingot-place-steps", "::mlir::ModuleOp"> {
  let summary = "assigns a memory offset to every tensor and lowers functions to `exec` steps";
  let description = [{
    Assumes functions that consist of fusions, library calls and views (`--ingot-form-fusions`,
    `--ingot-outline-constants`), and keeps their order. States get fixed offsets in the state block. Every other
    stored tensor gets an offset in the arena for its lifetime (best fit, largest first), and so does the scratch
    memory of a library call, as the target states it; views share the offset of their operand. A result
    that replaces a state is written in place where the last reader of the old value is the kernel that writes the new
    one, element by element; otherwise it is copied at the end. Equal fusions become one `exec.kernel`.

    On a GPU, inputs are staged in blocks next to the arena, so that those of the next step are copied while a step
    runs: `exec.staging_bytes`, which count as workspace.

    With `no-reuse`, no memory of the arena is used twice.

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
    Option<"noReuse", "no-reuse", "bool", "false", "give every tensor its own memory">,
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
