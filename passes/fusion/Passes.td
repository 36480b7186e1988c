//===----------------------------------------------------------------------===//
//
// Fusion: which ops run as one kernel.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_FUSION_PASSES_TD
#define INGOT_PASSES_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ChooseLayouts : Pass<"ingot-choose-layouts", "::mlir::func::FuncOp"> {
  let summary = "gives convolutions, and what is between them, the order of dimensions they run best in";
  let description = [{
    From each library call that the target runs best with channels last (`Target::prefersChannelsLast`), through every op that can
    work in that order (Permutable): elementwise ops, pooling, reductions, broadcasts, padding. The tensors in between really have
    the new shape, so that everything downstream stays row-major. Transposes are inserted at the
    borders of the region only. States keep their order. Where the target's library would reorder
    filters at every call (`Target::permutesFilters`), they are transposed to the new order and their gradients back.
    Assumes primitives (`--ingot-decompose`).

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
           "start from every op that has dimensions to change, whatever it prefers (for tests)">,
  ];
  let statistics = [
    Statistic<"numPermuted", "permuted", "ops in another order of dimensions">,
    Statistic<"numTransposes", "transposes", "transposes at the borders">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def SplitReductions : Pass<"ingot-split-reductions", "::mlir::func::FuncOp"> {
  let summary = "folds dimensions in two steps where one has too little parallel work";
  let description = [{
    A reduction with few results, such as the statistics of batch normalization, first keeps its
    outermost dimensions, then folds those. Half precision is accumulated in f32 throughout. How a
    reduction is split depends on its shape only: a sum is accumulated in one order on
    any number of threads. Nothing is split for a target whose kernels split reductions themselves.

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
           "elements from which on a reduction is worth two kernels">,
  ];
  let statistics = [
    Statistic<"numSplit", "split", "reductions in two steps">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def FormFusions : Pass<"ingot-form-fusions", "::mlir::func::FuncOp"> {
  let summary = "groups ops into the regions that become kernels";
  let description = [{
    Decides which values are stored in memory. Stored are the operands of library calls
    and custom kernels, what the function returns, the results of reductions and windows, and a value
    that several kernels read where storing it moves fewer bytes than computing it again.
    Everything else is computed where it is used. Each stored
    value is the root of an `ingot.fusion`; roots with one iteration space that share
    an input, or read each other's element, share a fusion. Reductions over whole rows share
    one with what reads the same rows or their results (kind `row`), where there are at least 16 rows of at
    least 16 elements. A loop that reads the result of a library call (EpilogueAnchor) at the element at work
    joins the call (kind `epilogue`), which finishes elements while they are in the cache. A root that only its own
    fusion reads is not stored. Other library anchors, reshapes and barriers stay outside. Assumes primitives only (`--ingot-decompose`).

    For a target whose library has a fixed list of epilogues (`Target::getEpilogueLibrary`), only bias, residual, ReLU and GELU by tanh, and their gradients, join products, if they are in the
    product's element type where libraries have them so (`library` of `ingot.fusion`): whatever else reads a product stays a kernel.
    The gradient of a bias, a sum of an operand over the inner dimension or of the result over its rows, joins a product as well, unless
    another kernel adds it up in the same pass.

    With `each`, every op is a fusion of its own and nothing is left to a library.

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
    Option<"each", "each", "bool", "false", "one fusion per op, no library anchors">,
    Option<"rows", "rows", "bool", "true", "form row fusions">,
    Option<"epilogues", "epilogues", "bool", "true", "form epilogue fusions">,
    Option<"maxOps", "max-ops", "unsigned", "200", "ops in one fusion at most">,
    Option<"maxInputs", "max-inputs", "unsigned", "48", "inputs of one fusion at most">,
  ];
  let statistics = [
    Statistic<"numFusions", "fusions", "fusions formed">,
    Statistic<"numFused", "ops-fused", "ops in fusions">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

#endif // INGOT_PASSES_FUSION_PASSES_TD
