//===----------------------------------------------------------------------===//
// Composites: one op while their gradient is better than their parts', each
// with its own vector-Jacobian product; decomposed before code generation.
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
    Over the dimensions from `dim` on: mean, 1 / sqrt(population variance + epsilon),
    result = (x - mean) * rstd * scale + bias. scale and bias have the shape of
    those dimensions; mean and rstd that of the others.
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
  let description = "As `layer_norm` without mean and bias: rstd = 1 / sqrt(mean of x^2 + epsilon).";
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
    The training form: statistics of this batch. result = (x - mean) * rstd * scale + bias,
    rstd = 1 / sqrt(population variance + epsilon). new_mean and new_variance are the running
    statistics: running * momentum + batch * (1 - momentum), where the batch's variance is
    divided by n - 1 if `unbiased` (PyTorch) and by n if not (the ONNX operator).
    No gradient passes to or from running statistics. Everything but operand and
    result has shape [channels]. The inference form uses the running statistics and keeps them.
    With `over_ranks`, statistics are those of the batches of all ranks.
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

def CrossEntropyOp : Ingot_CompositeOp<"cross_entropy",
    [DeclareOpInterfaceMethods<RowSplit>]> {
  let summary = "-log softmax(logits)[label] for each label";
  let description = [{
    Classes along `dim` of the logits; labels (i64) have the logits' shape without
    it. `losses` has the labels' shape and is 0 where the label is `ignore_index`; `lse` is the logarithm of
    the sum of exponentials, which the gradient uses.
  }];
  let arguments = (ins Ingot_FloatTensor:$logits, Ingot_IndexTensor:$labels,
                       I64Attr:$dim, DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
  let results = (outs Ingot_FloatTensor:$losses, Ingot_FloatTensor:$lse);
  let assemblyFormat = "$logits `,` $labels `dim` `=` $dim attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // INGOT_DIALECTS_INGOT_NORMALIZATION_NORMALIZATION_TD
