// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Partitions: tensors that are split along axes of the mesh of ranks.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PARTITION_PASSES_TD
#define INGOT_PASSES_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttachMesh : Pass<"ingot-attach-mesh", "::mlir::ModuleOp"> {
  let summary = "states the mesh of ranks, and partitions that are given";
  let description = [{
    Sets `ingot.mesh` to the ranks along axes, and `ingot.partition` of the states that rules name: a dimension split
    along an axis, with padding if it does not divide, or `whole`. A rule of which no state has the name, or the
    dimension, is an error.

    Before:
    ```mlir
    ingot.state parameter @up : tensor<4x8xf32> = dense<1.0> : tensor<4x8xf32>
    ```
    After, with `mesh=tensor=2 partition=up=1:tensor`:
    ```mlir
    module attributes {ingot.mesh = {tensor = 2} } {
      ingot.state parameter @up : tensor<4x8xf32> = dense<1.0> : tensor<4x8xf32> {ingot.partition = [{}, {tensor} ]}
    }
    ```
  }];
  let options = [
    ListOption<"mesh", "mesh", "::ingot::AxisSize", "ranks along axes, as in tensor=2">,
    ListOption<"partition", "partition", "::ingot::PartitionRule",
               "REGEX=DIM:AXIS or REGEX=whole: how states with such names are split">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def PartStates : Pass<"ingot-part-states", "::mlir::ModuleOp"> {
  let summary = "states that are split become those of one rank";
  let description = [{
    Gives states with a partition that has been applied the type of a rank's part, with that of all ranks together in
    `whole`. Passes that come after it see states as large as they are in the memory of a rank. Warns if ranks along an
    axis have no state in parts.

    Before, with `{tensor = 2}`:
    ```mlir
    ingot.state parameter @up : tensor<4x8xf32> = dense<1.0> : tensor<4x8xf32> {ingot.partition = [{}, {tensor} ]}
    ```
    After:
    ```mlir
    ingot.state parameter @up : tensor<4x4xf32> = dense<1.0> : tensor<4x8xf32>
        {ingot.partition = [{}, {tensor} ], whole = tensor<4x8xf32>}
    ```
  }];
  let statistics = [
    Statistic<"numStates", "states", "states of which ranks have parts">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def ApplyPartitions : Pass<"ingot-apply-partitions", "::mlir::ModuleOp"> {
  let summary = "each rank computes its parts of tensors";
  let description = [{
    Works on whole steps: with loss, gradients and optimizer. States with `ingot.partition` that the axis splits
    become parts in all functions that take them, and so does what is computed from them (docs/spec/partition.md).
    Each op is computed in parts of the factor of its operands' parts (`Partitionable`), on sums of which ranks have
    terms if it is linear in them, or as a whole, whichever exchanges the fewest bytes; contractions whenever they
    can be in parts. Of a function with `ingot.split_rows`, sums become parts of their rows where an op needs them,
    and are gathered where an op needs all. A composite that would need whole operands is decomposed: the cross
    entropy of logits whose classes are split exchanges three numbers for each label. Remarks report each exchange, how
    much of the contractions a rank computes, and those that it computes as a whole.

    The results of functions are whole, or in the parts of their state or of their own `ingot.partition`.

    Before:
    ```mlir
    ingot.state parameter @up : tensor<4x8xf32> = dense<1.0> {ingot.partition = [{}, {tensor} ]}
    ingot.state parameter @down : tensor<8x4xf32> = dense<1.0> {ingot.partition = [{tensor}, {} ]}
    %0 = ingot.matmul %x, %up : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
    %1 = ingot.relu %0 : tensor<2x8xf32>
    %2 = ingot.matmul %1, %down : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    return %2
    ```
    After, with `{tensor = 2}`:
    ```mlir
    %0 = ingot.matmul %x, %up : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %1 = ingot.relu %0 : tensor<2x4xf32>
    %2 = ingot.matmul %1, %down : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %3 = ingot.all_reduce sum %2 over [tensor] : tensor<2x4xf32>
    return %3
    ```
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"tensor\"", "the axis of the mesh: tensor, context or inner">,
    Option<"keepGlobal", "keep-global", "bool", "false",
           "leave a copy of each function as it was, for --ingot-verify-partition">,
  ];
  let statistics = [
    Statistic<"numExchanges", "exchanges", "exchanges over the axis">,
    Statistic<"numStates", "states", "states of which ranks have parts">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def ChoosePartitions : Pass<"ingot-choose-partitions", "::mlir::ModuleOp"> {
  let summary = "chooses partitions of states by the time of a step";
  let description = [{
    Dimensions that the ops of `@train_step` split together (`Partitionable`) are a class: the hidden units of a
    layer, its heads, its vocabulary. A class is split or not, and with it all states that have one of its dimensions;
    classes whose states have the same shapes are those of repeated blocks, and are split alike. The step of a rank is
    built for a choice, which gives its exchanges in both directions; its time is that of its ops on the machine, of
    its exchanges, and a price for the memory of states. Classes of data, and without parameters, are left alone:
    samples and positions are split along other axes. All choices are compared if there are at most six different
    classes, or a few more in a small step; otherwise, beginning with none, with all, and at random for about a second,
    the class is turned over that saves most, with those that it excludes, or two at a time, until none saves anything.

    States that have a partition keep it, and so have those of its class. A remark says for each class what it saves.

    Ops between those whose parameters are split, such as norms, residual sums and dropout, are computed by each rank,
    or by rows: the function then has `ingot.split_rows`, and ranks scatter a sum into rows, samples or the positions
    of one, instead of adding all of it up. That sends as many bytes, in twice as many exchanges, and each rank
    keeps only its rows. Rows are split if the step is faster so, or would keep more than it may; a remark says what
    they add and save.

    Before:
    ```mlir
    ingot.state parameter @up : tensor<4x8xf32> = dense<1.0> : tensor<4x8xf32>
    ingot.state parameter @down : tensor<8x4xf32> = dense<1.0> : tensor<8x4xf32>
    ```
    After:
    ```mlir
    ingot.state parameter @up : tensor<4x8xf32> = dense<1.0> : tensor<4x8xf32> {ingot.partition = [{}, {tensor} ]}
    ingot.state parameter @down : tensor<8x4xf32> = dense<1.0> : tensor<8x4xf32> {ingot.partition = [{tensor}, {} ]}
    ```
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"tensor\"", "the axis of the mesh: tensor, context or inner">,
    Option<"linkGbs", "link-gbs", "double", "-1", "bandwidth of a rank's link, in GB/s (that of the machine)">,
    Option<"linkUs", "link-us", "double", "-1", "latency of an exchange, in microseconds (that of the machine)">,
    Option<"memoryPrice", "memory-price", "double", "0.0", "seconds of a step that a GB of states is worth">,
    Option<"how", "search", "std::string", "\"auto\"",
           "all: compare all choices; local: turn classes over; auto: the former where it takes little time">,
    Option<"splitRows", "split-rows", "std::string", "\"auto\"",
           "auto, always or never: split the sums of ranks into rows, between the ops whose parameters are split">,
    Option<"memoryBudget", "memory-budget", "::ingot::MemorySize", "",
           "the budget of the step, which may ask for rows">,
  ];
  let statistics = [
    Statistic<"numStates", "states", "states that are split">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def VerifyPartition : Pass<"ingot-verify-partition", "::mlir::ModuleOp"> {
  let summary = "checks that the function of a rank is that of all ranks together";
  let description = [{
    For each function of which `--ingot-apply-partitions=keep-global` left a copy. Every value of the copy is looked for
    in the function: computed in parts, on terms or as a whole, by the rules of its op, from values that were found, or
    moved by exchanges. The results have to be found in their partitions. It does not matter how the partitions of
    values were chosen. An error names the first value that no rank computes. The copies are erased.

    Before:
    ```mlir
    func.func private @train_step.global(...)
    func.func @train_step(...)
    ```
    After:
    ```mlir
    func.func @train_step(...)
    ```
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"tensor\"", "the axis of the mesh: tensor, context or inner">,
  ];
  let statistics = [
    Statistic<"numValues", "values", "values that were found">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

#endif // INGOT_PASSES_PARTITION_PASSES_TD
