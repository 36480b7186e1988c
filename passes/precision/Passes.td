// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Mixed precision: which ops compute in bf16 or fp16, and dynamic loss scaling.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PRECISION_PASSES_TD
#define INGOT_PASSES_PRECISION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ScaleLoss : Pass<"ingot-scale-loss", "::mlir::ModuleOp"> {
  let summary = "scales the loss dynamically before it is differentiated";
  let description = [{
    fp16 has a narrow exponent range: gradients below 6e-8 vanish. Adds the state `@loss_scale` as an argument of
    `@train_step`, from which `--ingot-differentiate` starts instead of 1, so that all gradients are scaled by it. A
    step that already contains its backward pass (an imported training graph) must state where that starts, by an
    input of kind `cotangent`; without one it is an error. `--ingot-unscale-gradients` and `--ingot-guard-updates`
    complete dynamic loss scaling. Micikevicius et al., "Mixed Precision Training", 2018.

    Before: `func.func @train_step(%x: ...)`

    After: `func.func @train_step(%x: ..., %scale: tensor<f32> {ingot.state = @loss_scale})`
  }];
  let options = [Option<"initial", "initial", "double", "65536",
                        "loss scale of the first step">];
}

def AssignPrecision : Pass<"ingot-assign-precision", "::mlir::func::FuncOp"> {
  let summary = "runs contractions and attention in bf16 or fp16";
  let description = [{
    Ops whose PrecisionRole is `Low` get 16-bit operands; their results are 16-bit where they are read again, and f32
    where they are gradients of parameters (if the op can keep them). All other ops compute in f32: `Keep` ops because
    they must, `Follow` ops because that is free inside a fused loop; values that they read and write in memory have
    the type of the adjacent contraction, since casts to 16 bits are moved up, and casts to f32 down, through ops that
    only move elements, to where they are fused. If the only other readers of a value that is read in 16 bits are
    reductions (the gradient of a bias is a sum over an operand of the matmul for the gradient of the weight), these
    read the rounded value as well. A sum of values that are 16-bit in memory is rounded too where it is reduced and
    read otherwise: the gradient of a residual stream of convolutions and batch normalizations, which PyTorch rounds
    there as well. With an f32 term, such as in a transformer, a sum stays f32. With `by-cost`, an op that is
    estimated to take longer in 16 bits than in f32, as on a machine without instructions for them, stays in f32
    unless `force-low` names it. Works on any function, including an imported training step.

    Before:
    ```mlir
    %0 = ingot.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    ```
    After:
    ```mlir
    %0 = ingot.cast %x : tensor<8x4xf32> -> tensor<8x4xbf16>
    %1 = ingot.cast %w : tensor<4x4xf32> -> tensor<4x4xbf16>
    %2 = ingot.matmul %0, %1 : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
    %3 = ingot.cast %2 : tensor<8x4xbf16> -> tensor<8x4xf32>
    ```
  }];
  let options = [
    Option<"precision", "precision", "std::string", "\"bf16\"", "bf16 or fp16">,
    Option<"keepFp32", "keep-fp32", "::ingot::NamePattern", "",
           "regular expression: ops of these ONNX nodes stay in fp32">,
    Option<"forceLow", "force-low", "::ingot::NamePattern", "",
           "regular expression: ops of these ONNX nodes compute in 16 bits">,
    Option<"byCost", "by-cost", "bool", "false",
           "leave ops in fp32 that the machine runs more slowly in 16 bits">,
    Option<"function", "function", "std::string", "\"\"",
           "the function that computes in 16 bits; all if empty">,
  ];
  let statistics = [
    Statistic<"numLow", "low", "ops in 16 bits">,
    Statistic<"numRoundedSums", "rounded-sums", "sums rounded to 16 bits in memory">,
    Statistic<"numKept", "kept", "ops kept in fp32 by name">,
    Statistic<"numSlow", "slow", "ops left in fp32 because 16 bits are slower">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def QuantizeFloat8 : Pass<"ingot-quantize-float8", "::mlir::ModuleOp"> {
  let summary = "quantizes the operands of matmuls to 8-bit floats, with scales";
  let description = [{
    Rounds the operands that an op may read as 8-bit floats (`PrecisionRole::getFloat8Reads`) as a GPU's 8-bit matmul
    sees them: times a scale, rounded to the 8-bit type and saturated, and divided by the scale again. The matmul
    itself keeps its 16-bit (or f32) operands, which hold 8-bit numbers exactly, and accumulates in f32: the losses are
    those of 8-bit training, at the speed of 16 bits or below. Scales are powers of two, so that multiplying by them is
    exact.

    Values of the forward pass become f8E4M3FN; gradients, which need the range, f8E5M2. With `scaling`:

    - `current`: the largest magnitude of the tensor, of this step;
    - `delayed`: the largest of the last `history` steps, kept in one state for all tensors; needs no pass over the
      tensor before it is written, at the price of saturation when values grow;
    - `block`: a scale for each 128 elements along the dimension that is summed, or for 128 x 128 of a parameter;
      everything is f8E4M3FN;
    - `mx`: a scale for each 32 elements along the dimension that is summed (MXFP8); everything is f8E4M3FN.

    Where the target multiplies 8-bit floats in memory (`TargetCalls::getFloat8Matmuls`), operands are cast to the 8-bit
    type instead, and the op becomes the one that reads them with the inverse scales (`PrecisionRole::buildFloat8`). A
    target that sums along the last dimension of both operands has transposed copies of those that are read along the
    first.

    Dimensions of the matmul that are no multiples of 16 are what libraries refuse: such matmuls stay in 16 bits.
    Products of batches, as in attention, stay in 16 bits, and so do those of two f8E5M2 operands.
    The head stays in 16 bits too, as is usual: the matmul that makes what the loss reads, through no other matmul, and
    its gradients. Rounding errors of logits are not averaged by later layers.
    Micikevicius et al., "FP8 formats for deep learning", 2022; NVIDIA's Transformer Engine for the recipes.

    Before: `%0 = ingot.matmul %x, %w : (tensor<32x64xbf16>, tensor<64x32xbf16>) -> tensor<32x32xf32>`

    After:
    ```mlir
    %wide = ingot.cast %x : tensor<32x64xbf16> -> tensor<32x64xf32>
    %scaled = ingot.mul %wide, %scale : tensor<32x64xf32>
    %rounded = ingot.reduce_precision %scaled to f8E4M3FN : tensor<32x64xf32>
    %value = ingot.mul %rounded, %inverse : tensor<32x64xf32>
    %read = ingot.cast %value : tensor<32x64xf32> -> tensor<32x64xbf16>
    %0 = ingot.matmul %read, ...
    ```
  }];
  let options = [
    Option<"scaling", "scaling", "std::string", "\"current\"",
           "current, delayed, block or mx">,
    Option<"history", "history", "unsigned", "16",
           "steps over which the delayed scale takes the largest magnitude">,
    Option<"keepFp32", "keep-fp32", "::ingot::NamePattern", "",
           "regular expression: ops of these ONNX nodes stay as they are">,
  ];
  let statistics = [
    Statistic<"numQuantized", "quantized", "ops with 8-bit operands">,
    Statistic<"numRefused", "refused", "ops whose sizes 8-bit matmuls do not take">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def UnscaleGradients : Pass<"ingot-unscale-gradients", "::mlir::ModuleOp"> {
  let summary = "divides gradients by the loss scale, in f32";
  let description = [{
    Runs between `--ingot-differentiate` and `--ingot-apply-optimizer`, so that clipping and the optimizer see the
    true gradients. The multiplication by the reciprocal of a power of two is exact. Without a loss scale, nothing
    changes.

    Before: `-> (tensor<f32> {ingot.name = "loss"}, tensor<4xf32> {ingot.gradient = @w})`, with a scaled gradient

    After: the same, the gradient multiplied by `1 / @loss_scale`
  }];
}

def GuardUpdates : Pass<"ingot-guard-updates", "::mlir::ModuleOp"> {
  let summary = "skips the update of a step whose gradients are not finite, and adapts the loss scale";
  let description = [{
    A step whose gradient norm (result `grad_norm`) is not finite leaves every state unchanged: parameters, moments,
    statistics, the step count, random counters. The loss scale is multiplied by `loss_scale_backoff`, but not below
    1, after `loss_scale_hysteresis` such steps without `loss_scale_interval` good steps in between; after
    `loss_scale_interval` good steps in a row it is multiplied by `loss_scale_growth`. All of this is data flow within
    the step. Adds the results `loss_scale` (of this step) and `skipped` (0 or 1) and the four hyperparameters.
    Without a loss scale, nothing changes, or with `always` the update is skipped and only `skipped` is added.

    Before: `-> (..., tensor<4xf32> {ingot.state = @w})`

    After: the state is `select(norm < inf, new, old)`
  }];
  let options = [Option<"always", "always", "bool", "false", "also without a loss scale">];
  let statistics = [Statistic<"numGuarded", "guarded", "states whose update is guarded">];
}

def KeepLowCopies : Pass<"ingot-keep-low-copies", "::mlir::ModuleOp"> {
  let summary = "keeps 16-bit compute copies of fp32 master weights";
  let description = [{
    A parameter that contractions read through a cast gets a second state of the 16-bit type, its compute copy, which
    the kernel that updates the parameter writes as well: no step converts weights. The trainer derives the copy from
    the parameter at start; checkpoints do not contain it. A parameter that is all-gathered at the end of the step
    (`all_gather_wait`) has no copy, so that its all-gather can overlap with the next forward pass
    (`--ingot-defer-gathers`), which converts it.

    A bf16 copy is the upper half of its master, rounded: then only the lower half of the master is stored in
    addition, and six bytes per weight become four. The step reads the master as `ingot.join_halves` of both and
    writes it as `ingot.upper_half` and `ingot.lower_half`. A master that a collective writes is not split.

    Before:
    ```mlir
    %0 = ingot.cast %w : tensor<4x4xf32> -> tensor<4x4xbf16>
    ...
    return %new : tensor<4x4xf32>
    ```
    After: `%0` is an argument `{ingot.state = @"w/bf16"}`, `%lower` one `{ingot.state = @"w/lower"}`, and the step
    reads and returns
    ```mlir
    %w = ingot.join_halves %0, %lower : (tensor<4x4xbf16>, tensor<4x4xi16>) -> tensor<4x4xf32>
    ...
    %1 = ingot.upper_half %new : (tensor<4x4xf32>) -> tensor<4x4xbf16>
    %2 = ingot.lower_half %new : (tensor<4x4xf32>) -> tensor<4x4xi16>
    return %1, %2 : tensor<4x4xbf16>, tensor<4x4xi16>
    ```

    Where ranks will have shards of parameters (`shards`; see `--ingot-shard-updates`), they have shards of the copies,
    which they gather in 16 bits, and masters are not split.
  }];
  let options = [
    Option<"shards", "shards", "bool", "false", "ranks will have shards of parameters: no master is split">,
  ];
  let statistics = [
    Statistic<"numCopies", "copies", "weights with a compute copy">,
    Statistic<"numSplit", "split", "masters split into halves">];
}

#endif // INGOT_PASSES_PRECISION_PASSES_TD
