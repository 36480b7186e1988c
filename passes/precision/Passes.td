//===----------------------------------------------------------------------===//
//
// Mixed precision: which ops compute in bf16 or fp16, and dynamic loss scaling.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PRECISION_PASSES_TD
#define INGOT_PASSES_PRECISION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ScaleLoss : Pass<"ingot-scale-loss", "::mlir::ModuleOp"> {
  let summary = "multiplies the loss that is differentiated by a dynamic scale";
  let description = [{
    Half precision has few exponents: gradients below 6e-8 vanish in fp16. Adds the state
    `@loss_scale` as an argument of `@train_step` that `--ingot-differentiate` starts from in place of 1, so that all
    gradients are scaled by it. A step that holds its backward pass already (an imported training graph) has to say where that
    starts, by an input of kind `cotangent`; without one it is an error. `--ingot-unscale-gradients` and `--ingot-guard-updates`
    complete it. Micikevicius et al., "Mixed Precision Training", 2018.

    Before: `func.func @train_step(%x: ...)`

    After: `func.func @train_step(%x: ..., %scale: tensor<f32> {ingot.state = @loss_scale})`
  }];
  let options = [Option<"initial", "initial", "double", "65536",
                        "scale of the first step">];
}

def AssignPrecision : Pass<"ingot-assign-precision", "::mlir::func::FuncOp"> {
  let summary = "runs contractions and attention in low precision";
  let description = [{
    Ops whose PrecisionRole is `Low` get operands in the low type; their results are low where they are
    read again, and f32 where they are gradients of parameters (if the op can keep them). All else
    computes in f32: `Keep` ops because they must, `Follow` ops because inside a fused
    loop that costs nothing; what they read and write in memory takes the type of the
    contraction beside them, since casts to low precision move up and casts to f32 move down
    through ops that only move elements, to where they fuse. A value that is read in low precision and else only reduced (the
    gradient of a bias is a sum over what the gradients of weights multiply) is reduced as rounded. Works on any function, an imported training
    step as well.

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
    Option<"type", "type", "std::string", "\"bf16\"", "bf16 or fp16">,
    Option<"keepFp32", "keep-fp32", "std::string", "\"\"",
           "regular expression: ops of these ONNX nodes stay in fp32">,
    Option<"forceLow", "force-low", "std::string", "\"\"",
           "regular expression: ops of these ONNX nodes compute in low precision">,
  ];
  let statistics = [
    Statistic<"numLow", "low", "ops in low precision">,
    Statistic<"numKept", "kept", "ops kept in fp32 by name">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def UnscaleGradients : Pass<"ingot-unscale-gradients", "::mlir::ModuleOp"> {
  let summary = "divides gradients by the loss scale, in f32";
  let description = [{
    Between `--ingot-differentiate` and `--ingot-apply-optimizer`, so that clipping and the
    optimizer see the true gradients. The multiplication by the reciprocal of a power of two is exact. Without a
    loss scale nothing changes.

    Before: `-> (tensor<f32> {ingot.name = "loss"}, tensor<4xf32> {ingot.gradient = @w})`, scaled

    After: the same, the gradient multiplied by `1 / @loss_scale`
  }];
}

def GuardUpdates : Pass<"ingot-guard-updates", "::mlir::ModuleOp"> {
  let summary = "skips the update of a step whose gradients are not finite, and adapts the loss scale";
  let description = [{
    A step whose gradients' norm (result `grad_norm`) is not finite leaves every state as it was:
    parameters, moments, statistics, the count of steps, random counters. Its loss scale is
    multiplied by `loss_scale_backoff`, never below 1, once `loss_scale_hysteresis` such steps came without
    `loss_scale_interval` good ones between them; after `loss_scale_interval` good steps in a row the scale is multiplied by `loss_scale_growth`.
    All of it is data flow in the step. Adds results `loss_scale` (of this step) and `skipped` (0 or 1) and the
    four hyperparameters. Without a loss scale nothing changes.

    Before: `-> (..., tensor<4xf32> {ingot.state = @w})`

    After: the state is `select(norm < inf, new, old)`
  }];
  let statistics = [Statistic<"numGuarded", "guarded", "states whose update is guarded">];
}

def KeepLowCopies : Pass<"ingot-keep-low-copies", "::mlir::ModuleOp"> {
  let summary = "keeps weights in low precision beside their fp32 masters";
  let description = [{
    A parameter that contractions read through a cast gets a second state in the low
    type, which the kernel that updates the parameter writes as well: no step converts weights. The trainer
    derives it from the parameter at start; checkpoints do not hold it. A parameter that ranks collect at the end of the
    step (`all_gather_wait`) has none, so that it can travel until the next step (`--ingot-defer-gathers`) converts it.

    A copy in bf16 is the upper half of its master, rounded: then only the master's lower half is kept beside it, and
    six bytes a weight become four. The step reads the master as `ingot.join_halves` of both and writes it as
    `ingot.upper_half` and `ingot.lower_half`. A master that a collective writes stays whole.

    Before:
    ```mlir
    %0 = ingot.cast %w : tensor<4x4xf32> -> tensor<4x4xbf16>
    ...
    return %new : tensor<4x4xf32>
    ```
    After: `%0` is an argument `{ingot.state = @"w/bf16"}`, `%lower` one `{ingot.state = @"w/lower"}`, and the step reads
    and returns
    ```mlir
    %w = ingot.join_halves %0, %lower : (tensor<4x4xbf16>, tensor<4x4xi16>) -> tensor<4x4xf32>
    ...
    %1 = ingot.upper_half %new : (tensor<4x4xf32>) -> tensor<4x4xbf16>
    %2 = ingot.lower_half %new : (tensor<4x4xf32>) -> tensor<4x4xi16>
    return %1, %2 : tensor<4x4xbf16>, tensor<4x4xi16>
    ```
  }];
  let statistics = [
    Statistic<"numCopies", "copies", "weights kept in low precision">,
    Statistic<"numSplit", "split", "masters kept in halves">];
}

#endif // INGOT_PASSES_PRECISION_PASSES_TD
