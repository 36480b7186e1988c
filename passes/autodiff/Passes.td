// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes from a forward graph to a training step: loss, gradients, optimizer.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_AUTODIFF_PASSES_TD
#define INGOT_PASSES_AUTODIFF_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttachLoss : Pass<"ingot-attach-loss", "::mlir::ModuleOp"> {
  let summary = "creates the functions for training, evaluation and prediction from a forward graph";
  let description = [{
    Replaces `@forward` by three functions that share the module's states:

    - `@train_step` returns the loss, a scalar f32 named `loss`, and the states that the
      forward pass updates;
    - `@eval_step` returns `loss_sum`, `loss_count` and, for a cross entropy, `correct`, over the samples
      whose index is below the input `valid`: the rest of the batch is padding. For the metrics of the option it has
      what they are computed from, as results `metric.NAME`: sums over samples, or in `metric.rows.NAME` values of each.
      `@train_step` returns such sums for metrics of training steps;
    - `@predict` returns the model's outputs.

    Evaluation and prediction use the inference form of ops that have one
    (ModeDependent). Losses other than `output:NAME` compare the model's first output with
    an input named `labels` and return the mean; labels of classes carry the number of classes:

    | loss | labels | |
    |---|---|---|
    | `cross-entropy[:AXIS]` | i64, the output's shape without AXIS | labels of -100, or of N with `ignore=N`, do not count; `smoothing=S`, `weights=W/W/...` for each class, `focal=G` |
    | `nll[:AXIS]` | as those of `cross-entropy` | of an output of logarithms of probabilities; `weights=W/W/...` |
    | `mse` | same type as the output | squared difference |
    | `l1`, `huber[:DELTA]`, `smooth-l1[:BETA]` | same type as the output | absolute difference; small ones squared |
    | `kl-div` | same type as the output | Kullback-Leibler divergence of probabilities from logarithms of them, a sum over each sample |
    | `bce-with-logits` | same type as the output | cross entropy of the logistic function; `focal=G`, `alpha=A`, `pos-weight=W` |
    | `output:NAME` | none | the model computes its loss |

    Settings follow a colon, separated by commas. A loss is a sum of terms `FACTOR*NAME:SETTINGS@OUTPUT`, separated by
    `+`: a term with `@OUTPUT` is computed from that output and an input `labels_OUTPUT`.

    Before:
    ```mlir
    func.func @forward(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<4x3xf32> {ingot.state = @w})
        -> (tensor<8x3xf32> {ingot.name = "logits"})
    ```
    After:
    ```mlir
    func.func @train_step(%x: tensor<8x4xf32> {...}, %labels: tensor<8xi64> {ingot.classes = 3 : i64, ingot.ignored = -100 : i64, ingot.kind = "labels", ingot.name = "labels"},
        %w: tensor<4x3xf32> {...}) -> (tensor<f32> {ingot.name = "loss"})
    ```
    In a module with a function `@teacher` (`--ingot-add-teacher`) the training step computes it as well, and the loss
    is `alpha T^2 D + (1 - alpha) L + pair-weight M`: L is the loss of labels, D the mean over the labels that count of
    the divergence of softmax(output / T) from softmax(output of the teacher / T) (`softmax_divergence`), and M the sum
    of the mean squared errors of results `distill.N` of both functions. `metric.hard_loss`, `metric.distill_loss` and
    `metric.pair_loss` are L, D T^2 and M; evaluations have L alone.

    A module that has a `@train_step` with gradients, imported with its backward pass, gets the other two functions:
    from `@forward`, the imported evaluation model, with the loss that the module's attribute `ingot.loss` names, or
    from the part of the step that computes the loss. A `@train_step` without gradients is left alone.
  }];
  let options = [Option<"loss", "loss", "std::string", "\"\"",
      "the name of a loss of the table, with settings, or a sum of them; the only output if that is a float scalar">,
    Option<"metrics", "metrics", "std::string", "\"\"",
      "metrics of evaluations, separated by commas: accuracy, topK, f1, auc, confusion, perplexity, mae, r2; of "
      "training steps with `train-` before the name">,
    Option<"distill", "distill", "::ingot::DistillRule", "",
      "how the model learns from the teacher: temperature=T, alpha=A, pair-weight=W">,
    Option<"weigh", "weigh", "bool", "false",
      "where labels can be ignored, divide by the number of all labels, and return the fraction that counts as "
      "`loss_weight`: sums of both, over micro-batches or ranks, give the mean">];
}

def Differentiate : Pass<"ingot-differentiate", "::mlir::ModuleOp"> {
  let summary = "adds the gradients of the loss by all parameters to the training step";
  let description = [{
    Differentiates `@train_step` in reverse mode through the Differentiable interface. Only ops between a trainable
    parameter and the loss are differentiated. The cotangents of a value with several uses are summed in the reverse
    order of its uses.

    Before: `-> (tensor<f32> {ingot.name = "loss"})`

    After: `-> (tensor<f32> {ingot.name = "loss"}, tensor<4x3xf32> {ingot.gradient = @w})`

    A parameter on which the loss does not depend has no gradient, which a remark states; the optimizer leaves it
    unchanged. A loss that depends on no parameter is an error. Ops without a gradient between a parameter and the
    loss are one error that names them all. A step that has no loss, or already updates its parameters, is left alone.
    So is one that contains its backward pass (an imported training graph), except for the scalar input of kind
    `cotangent` from which its gradients start: that is replaced by 1, or by the loss scale.
  }];
  let statistics = [
    Statistic<"numDifferentiated", "ops-differentiated", "ops whose gradient was built">,
    Statistic<"numGradients", "gradients", "parameters with a gradient">,
    Statistic<"numUnreached", "unreached", "parameters on which the loss does not depend">];
}

def AccumulateGradients : Pass<"ingot-accumulate-gradients", "::mlir::ModuleOp"> {
  let summary = "accumulates gradients and loss over several micro-batches";
  let description = [{
    Each gradient that `@train_step` returns, the loss, and its weight become the sum over this micro-batch and those
    before it in the step, as do sums that metrics are computed from (`metric.NAME`); without the result `loss_weight`
    (`--ingot-attach-loss=weigh`) each micro-batch has weight 1. `--ingot-average-gradients` turns the sums of gradients
    and losses into means. The sums are states of the role `accumulator`. The state `@micro_step` counts micro-batches
    within the step: the first one does not read the sums, which therefore need not be cleared. Random ops use `@step`
    times `count` plus `@micro_step` as their step.

    Before: `-> (tensor<f32> {ingot.name = "loss"}, tensor<4x3xf32> {ingot.gradient = @w})`

    After: `-> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.name = "loss_weight"},
    tensor<4x3xf32> {ingot.gradient = @w}, tensor<i64> {ingot.state = @micro_step},
    tensor<4x3xf32> {ingot.state = @"w/sum"}, tensor<f32> {ingot.state = @"loss/sum"})`

    With a `count` of 1, or in a step without gradients, nothing changes.
  }];
  let options = [Option<"count", "count", "int64_t", "1", "micro-batches per step">];
  let statistics = [
    Statistic<"numAccumulated", "accumulated", "gradients that are accumulated">];
}

def AverageGradients : Pass<"ingot-average-gradients", "::mlir::ModuleOp"> {
  let summary = "divides the sums of gradients and loss by their weight";
  let description = [{
    Sums over micro-batches (`--ingot-accumulate-gradients`) and ranks (`--ingot-reduce-gradients`) become means: over
    the labels that count, if some are ignored, and not over micro-batches or ranks. A step without the result
    `loss_weight` is left alone.

    Before: `-> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.name = "loss_weight"},
    tensor<4x3xf32> {ingot.gradient = @w})`

    After: `-> (tensor<f32> {ingot.name = "loss"}, tensor<4x3xf32> {ingot.gradient = @w})`
  }];
}

def SplitMicroSteps : Pass<"ingot-split-micro-steps", "::mlir::ModuleOp"> {
  let summary = "splits off the step of all micro-batches except the last";
  let description = [{
    Assumes `--ingot-accumulate-gradients`, and an optimizer after it. `@accumulate_step`, for all micro-batches of a
    step except the last, is `@train_step` without the update: it returns the loss so far, the sums and running
    statistics. `@train_step`, for the last micro-batch, no longer stores the sums and sets `@micro_step` to 0.

    Before: `@train_step -> (loss, w, micro_step, w/sum, loss/sum)`

    After: `@accumulate_step -> (loss, micro_step, w/sum, loss/sum)`, `@train_step -> (loss, w, micro_step)`
  }];
}

def ApplyOptimizer : Pass<"ingot-apply-optimizer", "::mlir::ModuleOp"> {
  let summary = "updates parameters by their gradients";
  let description = [{
    Replaces each gradient that `@train_step` returns by the next value of the parameter. Adds the optimizer's moments
    as states, the state `@step` that counts steps, and the hyperparameters as f64 inputs; their defaults, those of
    torch.optim or of the paper, are in the module attribute `ingot.hyperparameters`. Values that depend only on
    hyperparameters and the step are computed in f64, once for all parameters; updates are computed in f32 (f64 for
    f64 parameters).

    | optimizer | update of p by its gradient g |
    |---|---|
    | `sgd` | g += wd p; p -= lr g |
    | `momentum` | g += wd p; b = momentum b + g; p -= lr b |
    | `nesterov` | g += wd p; b = momentum b + g; p -= lr (g + momentum b) |
    | `adam` | g += wd p; m, v = means of g, g^2; p -= lr m' / (sqrt(v') + eps), where ' corrects the bias |
    | `adamw` | p -= lr wd p, then as adam without wd |
    | `adamw-hf` | p -= lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps), then p -= lr wd p; without the corrections for a `correct_bias` of 0 |
    | `nadam` | g += wd p; m, v as adam's; p -= lr ((1 - mu) / (1 - prod mu) g + mu" / (1 - prod mu mu") m) / (sqrt(v') + eps), where mu = beta1 (1 - 0.96^(t momentum_decay) / 2) and mu" is that of the next step |
    | `ademamix` | m, v as adam's; s = mean of g by beta3; p -= lr ((m' + slow_weight s) / (sqrt(v') + eps) + wd p); slow_weight and beta3 grow over `slow_weight_warmup` and `beta3_warmup` steps |
    | `adagrad` | g += wd p; s += g^2; p -= lr g / (sqrt(s) + eps) |
    | `rmsprop` | g += wd p; v = mean of g^2; p -= lr g / (sqrt(v) + eps) |
    | `rmsprop-momentum` | as rmsprop with b = momentum b + g / (sqrt(v) + eps); p -= lr b |
    | `adadelta` | g += wd p; v = mean of g^2; d = sqrt((u + eps) / (v + eps)) g; u = mean of d^2; p -= lr d |
    | `lamb` | r = m' / (sqrt(v') + eps) + wd p; p -= lr (norm(p) / norm(r)) r |
    | `lion` | p -= lr (sign(beta1 m + (1 - beta1) g) + wd p); m = beta2 m + (1 - beta2) g |
    | `adafactor` | v = means of g^2 of rows times those of columns over their mean, of vectors the mean of g^2; u = g / sqrt(v); p -= lr wd p; p -= min(lr, 1 / sqrt(t)) max(eps, rms(p)) u / max(1, rms(u) / clip_threshold) |
    | `muon` | of matrices that are neither looked up, nor added, nor the head: m = mean of g; u = five Newton-Schulz steps of (1 - momentum) g + momentum m; p -= lr wd p; p -= lr s u with s = 0.2 sqrt(max(rows, columns)), or sqrt(max(1, rows / columns)) for a `match_rms_adamw` of 0, rows and columns as stored; all else as adamw |
    | `schedule-free-adamw` | gradients are those at y = p + (1 - beta1) d; v = mean of g^2; q = d - lr (g / (sqrt(v') + eps) + wd y); p += c q; d = (1 - c) q, where c is t^r max(lr)^weight_lr_power over the sum of these |

    `muon`, `adafactor` and `schedule-free-adamw` need whole tensors: with `shards` they are an error.

    With `schedule-free-adamw`, the parameter is the average, which evaluation, prediction and export read.

    With `clip`, all gradients are multiplied by min(1, clip_norm / (norm + 1e-6)), where `norm`, the norm of all
    gradients together, is a result named `grad_norm`; a `clip_norm` of 0 disables clipping.

    The weight decay of norms and biases, which are parameters of at most one dimension, or with such a name and at
    most one dimension that is not 1, is `weight_decay.norms+biases` where that is not negative, as it is by default.

    With `group=NAME=REGEX`, the parameters that the regular expression finds, unless they are in a group before, have
    hyperparameters of their own: `lr.NAME`, a factor of `lr`; `weight_decay.NAME`, which is `weight_decay` if it is
    negative; and `start.NAME`, the number of steps for which they stay as they are, with their moments: their gradients
    are not part of the norm then, and their steps count from there.

    With `optimizer-precision=bf16`, the moments of f32 updates are stored in bf16: they are read as f32, and written by
    `ingot.stochastic_round`, whose random numbers depend only on the step and the parameter, so that all ranks agree.

    With `optimizer-precision=dyn8`, the moments of f32 parameters of at least 4096 elements are encoded (attribute
    `ingot.encoding` of the moment, which others have the value of): they are decoded in f32 by
    `ingot.decode_blocks`, and encoded by `ingot.block_max` and `ingot.encode_blocks` in blocks of 256 elements.
    Optimizers that need more than elements are an error.

    Of weights with `ingot.pruning`, gradient, next value and moments of the weight's shape are zero where a bit is set
    of a moment of ui8, which is added and has the attribute then.

    An imported step may come with an optimizer: the module attribute `ingot.given_optimizer` has its `name` and
    defaults of hyperparameters, `clip_norm` if it clips, and moments that exist already are used.

    A step without gradients is left alone.
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "\"\"",
           "one of the names above; that of the imported step, else adamw">,
    Option<"noDecay", "no-decay", "::ingot::NamePattern", "",
           "regular expression: parameters with a matching name have no weight decay; or norms-and-biases">,
    Option<"clip", "clip", "bool", "false", "clip gradients by their global norm">,
    Option<"clipNorm", "clip-norm", "double", "1.0",
           "default of the trainer's option for the norm to clip at; 0 does not clip">,
    Option<"optimizerPrecision", "optimizer-precision", "std::string", "\"fp32\"",
           "fp32, bf16 or dyn8: precision in which moments are stored">,
    Option<"shards", "shards", "bool", "false", "ranks update shards: optimizers that need whole matrices are refused">,
    ListOption<"group", "group", "::ingot::ParameterGroup",
               "NAME=REGEX: parameters with hyperparameters of their own">];
  let statistics = [
    Statistic<"numUpdated", "updated", "parameters updated">,
    Statistic<"numMoments", "moments", "moments added">];
}

#endif // INGOT_PASSES_AUTODIFF_PASSES_TD
