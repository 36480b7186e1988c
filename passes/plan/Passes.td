// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes that prepare a model for being planned.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PLAN_PASSES_TD
#define INGOT_PASSES_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def KeepBlocks : Pass<"ingot-keep-blocks", "::mlir::ModuleOp"> {
  let summary = "leaves the first of the model's repeated blocks";
  let description = [{
    Ops of `@forward` that repeat with other states, each time with what the time before has computed, are a run of
    blocks: the layers of a transformer. Of each run of at least three the first `count` are left, and what read the
    last one reads the last that is left. States of the others are erased. What a step of the model takes is then known
    from two short models, because each block adds the same to it; `ingotc --auto` compiles these.

    Before, with `count=2`:
    ```mlir
    %1 = ingot.matmul %0, %w0 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %2 = ingot.matmul %1, %w1 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %3 = ingot.matmul %2, %w2 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    return %3
    ```
    After:
    ```mlir
    %1 = ingot.matmul %0, %w0 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %2 = ingot.matmul %1, %w1 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    return %2
    ```
  }];
  let options = [
    Option<"count", "count", "int64_t", "2", "the blocks of each run that are left, at least 2">,
  ];
  let statistics = [Statistic<"numBlocks", "blocks", "blocks that were erased">];
}

#endif // INGOT_PASSES_PLAN_PASSES_TD
