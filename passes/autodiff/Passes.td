//===----------------------------------------------------------------------===//
//
// From a forward graph to a training step: loss, gradients, optimizer.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_AUTODIFF_PASSES_TD
#define INGOT_PASSES_AUTODIFF_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttachLoss : Pass<"ingot-attach-loss", "::mlir::ModuleOp"> {
  let summary = "makes training, evaluation and prediction of a forward graph";
  let description = [{
    Replaces `@forward` by three functions that share the module's states:

    - `@train_step` returns the loss, a scalar f32 named `loss`, and the states that the
      forward pass updates;
    - `@eval_step` returns `loss_sum`, `loss_count` and, for a cross entropy, `correct`, of the samples
      whose index is below the input `valid`: the rest of the batch is padding;
    - `@predict` returns the model's outputs.

    Evaluation and prediction use the inference form of ops that have one
    (ModeDependent). Losses other than `output:NAME` compare the model's first output with
    an input named `labels` and take the mean; labels of classes say how many there are:

    | loss | labels | |
    |---|---|---|
    | `cross-entropy[:AXIS]` | i64, the output's shape without AXIS (last) | labels of -100 do not count |
    | `mse` | as the output | square of the difference |
    | `bce-with-logits` | as the output | cross entropy of the logistic function |
    | `output:NAME` | none | the model computes its loss |

    Before:
    ```mlir
    func.func @forward(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<4x3xf32> {ingot.state = @w})
        -> (tensor<8x3xf32> {ingot.name = "logits"})
    ```
    After:
    ```mlir
    func.func @train_step(%x: tensor<8x4xf32> {...}, %labels: tensor<8xi64> {ingot.classes = 3 : i64, ingot.kind = "labels", ingot.name = "labels"},
        %w: tensor<4x3xf32> {...}) -> (tensor<f32> {ingot.name = "loss"})
    ```
    A module that has a `@train_step` is left alone.
  }];
  let options = [Option<"loss", "loss", "std::string", "\"\"",
      "cross-entropy[:AXIS], mse, bce-with-logits or output:NAME; the only "
      "output if that is a float scalar">,
    Option<"weigh", "weigh", "bool", "false",
      "where labels may not count, divide by the number of all, and return the share that counts as `loss_weight`: "
      "sums of both, over micro-batches or ranks, give the mean">];
}

def Differentiate : Pass<"ingot-differentiate", "::mlir::ModuleOp"> {
  let summary = "adds the gradient of the loss by every parameter to the training step";
  let description = [{
    Reverse-mode differentiation of `@train_step` through the Differentiable
    interface. Only what lies between a trainable parameter and the loss is differentiated. Cotangents of a value
    that is used several times are added in the reverse order of its uses.

    Before: `-> (tensor<f32> {ingot.name = "loss"})`

    After: `-> (tensor<f32> {ingot.name = "loss"}, tensor<4x3xf32> {ingot.gradient = @w})`

    A parameter that the loss does not depend on has no gradient, which a remark
    says; the optimizer leaves it as it is. A loss that depends on no parameter is an error. Ops without a gradient on the way from a
    parameter to the loss are one error that names them all. A step that has no loss, or updates its
    parameters already, is left alone. So is one that holds its backward pass (an imported training graph), but for
    the scalar input of kind `cotangent` that its gradients start from: that becomes 1, or the loss scale.
  }];
  let statistics = [
    Statistic<"numDifferentiated", "ops-differentiated", "ops whose gradient was built">,
    Statistic<"numGradients", "gradients", "parameters with a gradient">,
    Statistic<"numUnreached", "unreached", "parameters that the loss does not depend on">];
}

def AccumulateGradients : Pass<"ingot-accumulate-gradients", "::mlir::ModuleOp"> {
  let summary = "adds gradients and loss up over several micro-batches";
  let description = [{
    Each gradient that `@train_step` returns, the loss, and its weight become the sum over this micro-batch and
    those before it in the step; without the result `loss_weight` (`--ingot-attach-loss=weigh`) each micro-batch weighs 1.
    `--ingot-average-gradients` makes means of them. The sums are
    states of the role `accumulator`. The state `@micro_step` counts micro-batches within the step: the first one does not
    read the sums, which need not be cleared. Random ops count `@step` times `count` plus `@micro_step`.

    Before: `-> (tensor<f32> {ingot.name = "loss"}, tensor<4x3xf32> {ingot.gradient = @w})`

    After: `-> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.name = "loss_weight"}, tensor<4x3xf32> {ingot.gradient = @w},
    tensor<i64> {ingot.state = @micro_step}, tensor<4x3xf32> {ingot.state = @"w/sum"}, tensor<f32> {ingot.state = @"loss/sum"})`

    A `count` of 1, and a step without gradients, change nothing.
  }];
  let options = [Option<"count", "count", "int64_t", "1", "micro-batches of a step">];
  let statistics = [
    Statistic<"numAccumulated", "accumulated", "gradients that are summed">];
}

def AverageGradients : Pass<"ingot-average-gradients", "::mlir::ModuleOp"> {
  let summary = "divides gradients and loss by the weight that they are sums of";
  let description = [{
    Sums over micro-batches (`--ingot-accumulate-gradients`) and ranks (`--ingot-reduce-gradients`) become means: over labels that
    count, where not all do, and not over micro-batches or ranks. A step without the result `loss_weight` is left alone.

    Before: `-> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.name = "loss_weight"}, tensor<4x3xf32> {ingot.gradient = @w})`

    After: `-> (tensor<f32> {ingot.name = "loss"}, tensor<4x3xf32> {ingot.gradient = @w})`
  }];
}

def SplitMicroSteps : Pass<"ingot-split-micro-steps", "::mlir::ModuleOp"> {
  let summary = "makes a function for all micro-batches but the last";
  let description = [{
    Assumes `--ingot-accumulate-gradients`, and an optimizer after it. `@accumulate_step`, for all micro-batches of a step but
    the last, is `@train_step` without the update: it returns the loss so far, sums and running statistics. `@train_step`, for the
    last, no longer stores sums and sets `@micro_step` to 0.

    Before: `@train_step -> (loss, w, micro_step, w/sum, loss/sum)`

    After: `@accumulate_step -> (loss, micro_step, w/sum, loss/sum)`, `@train_step -> (loss, w, micro_step)`
  }];
}

def ApplyOptimizer : Pass<"ingot-apply-optimizer", "::mlir::ModuleOp"> {
  let summary = "turns gradients into updated parameters";
  let description = [{
    Replaces each gradient that `@train_step` returns by the parameter's next
    value. Adds the optimizer's moments as states, the state `@step` that counts steps, and the
    hyperparameters as f64 inputs; their defaults, those of torch.optim or the paper, are in
    the module attribute `ingot.hyperparameters`. What depends on hyperparameters and the step alone is
    computed in f64, once for all parameters; updates are computed in f32 (f64 for f64 parameters).

    | optimizer | update of p by its gradient g |
    |---|---|
    | `sgd` | g += wd p; p -= lr g |
    | `momentum` | g += wd p; b = momentum b + g; p -= lr b |
    | `adam` | g += wd p; m, v = means of g, g^2; p -= lr m' / (sqrt(v') + eps), where ' corrects the bias |
    | `adamw` | p -= lr wd p, then as adam without wd |
    | `adagrad` | g += wd p; s += g^2; p -= lr g / (sqrt(s) + eps) |
    | `lamb` | r = m' / (sqrt(v') + eps) + wd p; p -= lr (norm(p) / norm(r)) r |
    | `lion` | p -= lr (sign(beta1 m + (1 - beta1) g) + wd p); m = beta2 m + (1 - beta2) g |

    With `clip`, all gradients are multiplied by min(1, clip_norm / (norm + 1e-6)),
    where `norm`, that of all gradients together, is a result named `grad_norm`; a `clip_norm` of 0
    leaves them as they are.

    With `moment-precision=bf16`, moments of f32 updates are stored in bf16: read as f32, and written by
    `ingot.stochastic_round`, whose draws depend on the step and the parameter alone: ranks agree.

    A step without gradients is left alone.
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "\"adamw\"",
           "sgd, momentum, adam, adamw, adagrad, lamb or lion">,
    Option<"noDecay", "no-decay", "std::string", "\"\"",
           "regular expression: parameters whose name matches have no weight decay">,
    Option<"clip", "clip", "bool", "false", "clip gradients by their global norm">,
    Option<"clipNorm", "clip-norm", "double", "1.0",
           "the norm to clip at unless the trainer says otherwise; 0 does not clip">,
    Option<"momentPrecision", "moment-precision", "std::string", "\"fp32\"",
           "fp32 or bf16: what moments are stored in">];
  let statistics = [
    Statistic<"numUpdated", "updated", "parameters updated">,
    Statistic<"numMoments", "moments", "moments added">];
}

#endif // INGOT_PASSES_AUTODIFF_PASSES_TD
