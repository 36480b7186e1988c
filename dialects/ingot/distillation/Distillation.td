// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Losses that compare a model with another one, and what they have in common
// with other losses of classes. They are generated apart from the other ops,
// because few passes know them.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_DISTILLATION_DISTILLATION_TD
#define INGOT_DIALECTS_INGOT_DISTILLATION_DISTILLATION_TD

include "dialects/ingot/ir/Dialect.td"

def ClassLoss : OpInterface<"ClassLoss"> {
  let cppNamespace = "::ingot";
  let description = [{
    A loss of each row that is computed from a number for each class, of which there may be many: layers that compute
    these numbers can be computed in chunks of rows together with the loss, so that none is stored as a whole.
  }];
  let methods = [InterfaceMethod<
    "Returns the operands that have a number for each class of each row.",
    "::llvm::SmallVector<::mlir::Value>", "getScores", (ins)>];
}

def SoftmaxDivergenceOp : Ingot_ComputeOp<"softmax_divergence", [
    AllTypesMatch<["logits", "targets"]>, AllTypesMatch<["losses", "lse", "targets_lse"]>,
    DeclareOpInterfaceMethods<Differentiable>,
    DeclareOpInterfaceMethods<Decomposable>,
    DeclareOpInterfaceMethods<PrecisionRole, ["getPrecisionRole"]>,
    DeclareOpInterfaceMethods<ClassLoss>]> {
  let summary = "the Kullback-Leibler divergence of softmax(logits / T) from softmax(targets / T)";
  let description = [{
    Dimension `dim` of logits and targets holds the classes, and T is the temperature. With p = softmax(logits / T) and
    q = softmax(targets / T), `losses` is the sum of q (log q - log p) along it, where a class of q = 0 adds nothing;
    `lse` and `targets_lse` are the log-sum-exp of logits / T and of targets / T, which the gradient reads. It is the
    loss of distillation without the factor T^2 (Hinton et al., "Distilling the knowledge in a neural network", 2015).
  }];
  let arguments = (ins Ingot_FloatTensor:$logits, Ingot_FloatTensor:$targets,
                       I64Attr:$dim, F64Attr:$temperature);
  let results = (outs Ingot_FloatTensor:$losses, Ingot_FloatTensor:$lse, Ingot_FloatTensor:$targets_lse);
  let assemblyFormat = [{
    $logits `from` $targets `dim` `=` $dim `temperature` `=` $temperature attr-dict `:`
    type($logits) `->` type($losses)
  }];
  let hasVerifier = 1;
}

#endif // INGOT_DIALECTS_INGOT_DISTILLATION_DISTILLATION_TD
