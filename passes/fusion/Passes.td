// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Fusion: passes that decide which ops run as one kernel.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_FUSION_PASSES_TD
#define INGOT_PASSES_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ChooseLayouts : Pass<"ingot-choose-layouts", "::mlir::func::FuncOp"> {
  let summary = "assigns channels last to convolutions, and to the ops between them, where the target prefers it";
  let description = [{
    Starts at each library call for which the target prefers channels last (`Target::prefersChannelsLast`) and extends
    the region through all ops that can be permuted (Permutable): elementwise ops, pooling, reductions, broadcasts,
    padding. Tensors within a region have the permuted shape, so that all later passes see row-major tensors.
    Transposes are inserted only at the borders of a region. States keep their layout. Where the target's library
    would reorder filters at every call (`Target::permutesFilters`), they are transposed to the new layout and their
    gradients back. Assumes primitives (`--ingot-decompose`).

    Before:
    ```mlir
    %0 = ingot.conv %x, %w {...} : (tensor<8x3x32x32xf32>, tensor<64x3x3x3xf32>) -> tensor<8x64x32x32xf32>
    %1 = ingot.tanh %0 : tensor<8x64x32x32xf32>
    %2 = ingot.reduce sum %1 dims = [2, 3] : (tensor<8x64x32x32xf32>) -> tensor<8x64xf32>
    ```
    After:
    ```mlir
    %t = ingot.transpose %x[0, 2, 3, 1] : (tensor<8x3x32x32xf32>) -> tensor<8x32x32x3xf32>
    %0 = ingot.conv %t, %w {channels_last, ...} : (tensor<8x32x32x3xf32>, tensor<64x3x3x3xf32>) -> tensor<8x32x32x64xf32>
    %1 = ingot.tanh %0 : tensor<8x32x32x64xf32>
    %2 = ingot.reduce sum %1 dims = [1, 2] : (tensor<8x32x32x64xf32>) -> tensor<8x64xf32>
    ```
  }];
  let options = [
    Option<"everywhere", "everywhere", "bool", "false",
           "start from every op that can be permuted, whatever the target prefers (for tests)">,
  ];
  let statistics = [
    Statistic<"numPermuted", "permuted", "ops whose layout is changed">,
    Statistic<"numTransposes", "transposes", "transposes at the borders">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def SplitReductions : Pass<"ingot-split-reductions", "::mlir::func::FuncOp"> {
  let summary = "splits reductions with too little parallel work into two";
  let description = [{
    A reduction with few results, such as the statistics of batch normalization, first reduces all but its outermost
    dimensions to partial sums, then reduces those. Where less than a row would be left to the first step, a dimension
    is split into up to 1024 equal parts, such that sums have few terms: their error grows with the number of terms
    that are added one by one. 16-bit elements are accumulated in f32 throughout. The split
    depends on the shape only: a sum is accumulated in the same order with any number of threads. Nothing is split for
    a target whose kernels split reductions themselves.

    Before:
    ```mlir
    %0 = ingot.reduce sum %x dims = [0, 1, 2] : (tensor<64x32x32x64xf32>) -> tensor<64xf32>
    ```
    After:
    ```mlir
    %0 = ingot.reduce sum %x dims = [1, 2] : (tensor<64x32x32x64xf32>) -> tensor<64x64xf32>
    %1 = ingot.reduce sum %0 dims = [0] : (tensor<64x64xf32>) -> tensor<64xf32>
    ```
  }];
  let options = [
    Option<"minElements", "min-elements", "int64_t", "65536",
           "smallest reduction, in elements, that is split into two kernels">,
    Option<"maxTerms", "max-terms", "int64_t", "0",
           "instead, split sums of more terms until no step adds more, where their sizes have divisors (0: do not)">,
  ];
  let statistics = [
    Statistic<"numSplit", "split", "reductions split into two">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def FormDeviations : Pass<"ingot-form-deviations", "::mlir::func::FuncOp"> {
  let summary = "computes sums of squared differences from the mean in one pass over their elements";
  let description = [{
    The sum of the squares of differences from the mean waits for the mean, so that two kernels read the elements.
    Where the target's kernels merge partial results (`Target::splitsReductions`), such a sum becomes
    `ingot.squared_deviations`, which depends on the elements alone: one kernel computes it and the mean. A sum along
    rows is left as it is, because a kernel over rows has the elements at hand.

    Before:
    ```mlir
    %sum = ingot.reduce sum %x dims = [0] : (tensor<4096x64xf32>) -> tensor<64xf32>
    %mean = ingot.div %sum, %count : tensor<64xf32>
    %0 = ingot.broadcast %mean dims = [1] : tensor<64xf32> -> tensor<4096x64xf32>
    %1 = ingot.sub %x, %0 : tensor<4096x64xf32>
    %2 = ingot.mul %1, %1 : tensor<4096x64xf32>
    %3 = ingot.reduce sum %2 dims = [0] : (tensor<4096x64xf32>) -> tensor<64xf32>
    ```
    After:
    ```mlir
    %3 = ingot.squared_deviations %x dims = [0] : (tensor<4096x64xf32>) -> tensor<64xf32>
    ```
  }];
  let statistics = [
    Statistic<"numFormed", "formed", "sums computed without their mean">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def FormFusions : Pass<"ingot-form-fusions", "::mlir::func::FuncOp"> {
  let summary = "groups ops into fusions, each of which becomes a kernel";
  let description = [{
    Decides which values are stored in memory: operands of library calls and of custom kernels, results of the function,
    results of reductions and windows, and values with several readers where storing them moves fewer bytes than
    recomputing them; of terms that nothing else reads, among them the result of a call with an epilogue, the sum is
    stored in their place. All other values are computed where they are used. Each stored value is the root of an
    `ingot.fusion`; roots with one iteration space that share an input, or read each other's element, share a fusion.
    Reductions over whole rows are fused with the readers of the same rows or of their results (kind `row`), where there
    are at least 16 rows of at least 16 elements; where the target adds up rows in such kernels (`Target::sumsRows`),
    with up to four sums over the same rows as well. A loop that reads the result of a library call (EpilogueAnchor) at
    the current element becomes its epilogue (kind `epilogue`), which runs while the elements are in the cache. A root
    that only its own fusion reads is not stored. Other library calls, reshapes and barriers are not fused. Assumes
    primitives only (`--ingot-decompose`).

    For a target whose library has a fixed list of epilogues (`TargetKernels::getEpilogueLibrary`), only bias, residual,
    ReLU and tanh GELU, and their gradients, are fused into matmuls, provided that the element types are those the
    library requires (`library` of `ingot.fusion`): all other readers of a matmul are separate kernels. The gradient of
    a bias, which is the sum of an operand over the inner dimension or of the result over its rows, is fused into the
    matmul as well, unless another kernel computes it in the same pass over its data.

    A matmul without an epilogue of that library becomes one generated kernel with the loop that reads it, where the
    target has such kernels (`TargetKernels::describeMatmulKernel`) and predicts that this is faster than the library's
    call and a kernel after it (an `epilogue` without `library`). A target may also have none of them, or have them
    wherever it can, in place of the library's epilogues too (`TargetKernels::getMatmulChoice`).

    The time to compile a kernel grows faster than its size. Values are also stored where the ops that are computed for
    one root, or their reads of other tensors, would be more than `max-root-ops`, and a concatenation of more than
    `max-parts` tensors becomes one of concatenations.

    With `each`, every op is a fusion of its own, and there are no library calls.

    Before:
    ```mlir
    %0 = ingot.add %a, %b : tensor<8xf32>
    %1 = ingot.tanh %0 : tensor<8xf32>
    return %1 : tensor<8xf32>
    ```
    After:
    ```mlir
    %0 = ingot.fusion loop(%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>):
      %1 = ingot.add %x, %y : tensor<8xf32>
      %2 = ingot.tanh %1 : tensor<8xf32>
      ingot.yield %2 : tensor<8xf32>
    }
    return %0 : tensor<8xf32>
    ```
  }];
  let options = [
    Option<"each", "each", "bool", "false", "one fusion per op, no library calls">,
    Option<"rows", "rows", "bool", "true", "form row fusions">,
    Option<"epilogues", "epilogues", "bool", "true", "form epilogue fusions">,
    Option<"maxOps", "max-ops", "unsigned", "200", "maximum number of ops in merged fusions">,
    Option<"maxInputs", "max-inputs", "unsigned", "48", "maximum number of inputs and of roots of merged fusions">,
    Option<"maxRootOps", "max-root-ops", "unsigned", "128", "maximum number of ops computed for one root of a fusion">,
    Option<"maxParts", "max-parts", "unsigned", "64", "maximum number of operands of a concatenation">,
  ];
  let statistics = [
    Statistic<"numFusions", "fusions", "fusions formed">,
    Statistic<"numFused", "ops-fused", "ops in fusions">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

#endif // INGOT_PASSES_FUSION_PASSES_TD
