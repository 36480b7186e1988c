// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Partitions: tensors that are split along axes of the mesh of ranks.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PARTITION_PASSES_TD
#define INGOT_PASSES_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ApplyPartitions : Pass<"ingot-apply-partitions", "::mlir::ModuleOp"> {
  let summary = "each rank computes its parts of tensors";
  let description = [{
    Works on whole steps: with loss, gradients and optimizer. States with `ingot.partition` that the axis splits
    become parts in all functions that take them, and so does what is computed from them (docs/spec/partition.md).
    Each op is computed in parts of the factor of its operands' parts (`Partitionable`), on sums of which ranks have
    terms if it is linear in them, or as a whole, whichever exchanges the fewest bytes; contractions whenever they
    can be in parts. A composite that would need whole operands is decomposed: the cross entropy of logits whose
    classes are split exchanges three numbers for each label. A remark reports each exchange.

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
  ];
  let statistics = [
    Statistic<"numExchanges", "exchanges", "exchanges over the axis">,
    Statistic<"numStates", "states", "states of which ranks have parts">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

#endif // INGOT_PASSES_PARTITION_PASSES_TD
