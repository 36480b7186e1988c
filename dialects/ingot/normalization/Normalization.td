// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Composite ops, which stay one op until differentiation because their own
// vector-Jacobian product is better than that of their parts. They are decomposed
// before code generation.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_NORMALIZATION_NORMALIZATION_TD
#define INGOT_DIALECTS_INGOT_NORMALIZATION_NORMALIZATION_TD

include "dialects/ingot/ir/Dialect.td"

class Ingot_CompositeOp<string mnemonic, list<Trait> traits = []>
    : Ingot_ComputeOp<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<Differentiable>,
        DeclareOpInterfaceMethods<Decomposable>,
        DeclareOpInterfaceMethods<PrecisionRole, ["getPrecisionRole"]>])> {
  let extraClassDefinition = [{
    ::ingot::Precision $cppClass::getPrecisionRole() { return ::ingot::Precision::Keep; }
  }];
}

class Ingot_SoftmaxLikeOp<string mnemonic, string text>
    : Ingot_CompositeOp<mnemonic, [SameOperandsAndResultType]> {
  let summary = text;
  let arguments = (ins Ingot_FloatTensor:$operand, I64Attr:$dim);
  let results = (outs Ingot_FloatTensor:$result);
  let assemblyFormat = "$operand `dim` `=` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def SoftmaxOp : Ingot_SoftmaxLikeOp<"softmax", "exp(x - max) / sum of exp(x - max) along `dim`">;
def LogSoftmaxOp : Ingot_SoftmaxLikeOp<"log_softmax", "x - max - log(sum of exp(x - max)) along `dim`">;

def LayerNormOp : Ingot_CompositeOp<"layer_norm"> {
  let summary = "normalizes over the last dimensions, then scales and shifts";
  let description = [{
    mean is the mean over the dimensions from `dim` on, rstd is 1 / sqrt(population variance + epsilon), and result =
    (x - mean) * rstd * scale + bias. scale and bias have the shape of those dimensions; mean and rstd that of the
    others.
  }];
  let arguments = (ins Ingot_FloatTensor:$operand, Ingot_FloatTensor:$scale,
                       Optional<Ingot_FloatTensor>:$bias, I64Attr:$dim, F64Attr:$epsilon);
  let results = (outs Ingot_FloatTensor:$result, Ingot_FloatTensor:$mean,
                      Ingot_FloatTensor:$rstd);
  let assemblyFormat = [{
    $operand `,` $scale (`,` $bias^)? `dim` `=` $dim attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def RmsNormOp : Ingot_CompositeOp<"rms_norm"> {
  let summary = "divides by the root mean square over the last dimensions, then scales";
  let description = "The same as `layer_norm` without mean and bias: rstd = 1 / sqrt(mean of x^2 + epsilon).";
  let arguments = (ins Ingot_FloatTensor:$operand, Ingot_FloatTensor:$scale,
                       I64Attr:$dim, F64Attr:$epsilon);
  let results = (outs Ingot_FloatTensor:$result, Ingot_FloatTensor:$rstd);
  let assemblyFormat = [{
    $operand `,` $scale `dim` `=` $dim attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def BatchNormOp : Ingot_CompositeOp<"batch_norm", [
    DeclareOpInterfaceMethods<ModeDependent>]> {
  let summary = "normalizes each channel (dimension 1) over all other dimensions";
  let description = [{
    The op is the training form, with the statistics of the batch: result = (x - mean) * rstd * scale + bias, rstd = 1
    / sqrt(population variance + epsilon). new_mean and new_variance are the updated running statistics: running *
    momentum + batch * (1 - momentum), where the variance of the batch is divided by n - 1 if `unbiased` (PyTorch) and
    by n otherwise (the ONNX operator). No gradient passes to or from running statistics. All tensors except operand
    and result have shape [channels]. The inference form uses the running statistics and leaves them unchanged. With
    `over_ranks`, the statistics are those of the batches of all ranks together.
  }];
  let arguments = (ins Ingot_FloatTensor:$operand, Ingot_FloatTensor:$scale,
                       Ingot_FloatTensor:$bias, Ingot_FloatTensor:$running_mean,
                       Ingot_FloatTensor:$running_variance, F64Attr:$epsilon,
                       F64Attr:$momentum, UnitAttr:$unbiased, UnitAttr:$over_ranks);
  let results = (outs Ingot_FloatTensor:$result, Ingot_FloatTensor:$new_mean,
                      Ingot_FloatTensor:$new_variance, Ingot_FloatTensor:$mean,
                      Ingot_FloatTensor:$rstd);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def CrossEntropyOp : Ingot_CompositeOp<"cross_entropy"> {
  let summary = "-log softmax(logits)[label] for each label";
  let description = [{
    Dimension `dim` of the logits holds the classes; labels (i64) have the shape of the logits without it. `losses`
    has the shape of the labels and is 0 where the label is `ignore_index`; `lse` is the log-sum-exp of the logits,
    which the gradient reads.
  }];
  let arguments = (ins Ingot_FloatTensor:$logits, Ingot_IndexTensor:$labels,
                       I64Attr:$dim, DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
  let results = (outs Ingot_FloatTensor:$losses, Ingot_FloatTensor:$lse);
  let assemblyFormat = "$logits `,` $labels `dim` `=` $dim attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // INGOT_DIALECTS_INGOT_NORMALIZATION_NORMALIZATION_TD
