// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Reductions over dimensions of a tensor.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_REDUCTION_REDUCTION_TD
#define INGOT_DIALECTS_INGOT_REDUCTION_REDUCTION_TD

include "dialects/ingot/ir/Dialect.td"
include "dialects/ingot/reduction/ReductionKind.td"

def ReduceOp : Ingot_ComputeOp<"reduce", [
    DeclareOpInterfaceMethods<InferTypeOpInterface>,
    DeclareOpInterfaceMethods<ScalarBody, ["isLooped"]>,
    DeclareOpInterfaceMethods<Reduction, ["emitIdentity", "emitCombine"]>,
    DeclareOpInterfaceMethods<Permutable, ["carriesResults", "permute"]>,
    DeclareOpInterfaceMethods<Differentiable>,
    DeclareOpInterfaceMethods<CostModel, ["getFlops"]>,
    DeclareOpInterfaceMethods<PrecisionRole, ["getPrecisionRole"]>]> {
  let summary = "sum, product, maximum or minimum over `dims`, which are removed";
  let description = [{
    `dims` increases strictly. The result over no elements is 0, 1, the lowest or the highest value. 16-bit elements
    are accumulated in f32. max and min return NaN if an element is NaN; their gradient is divided equally among the
    elements that attain the extremum. The gradient of the product is defined where no element is 0.
  }];
  let arguments = (ins Ingot_ReductionKindAttr:$kind, Ingot_NumberTensor:$operand,
                       DenseI64ArrayAttr:$dims);
  let results = (outs Ingot_NumberTensor:$result);
  let assemblyFormat = [{
    `` $kind $operand `dims` `=` $dims attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = roundsMoreThanOnce;
  let hasFolder = 1;
}

def SquaredDeviationsOp : Ingot_ComputeOp<"squared_deviations", [
    DeclareOpInterfaceMethods<InferTypeOpInterface>,
    DeclareOpInterfaceMethods<ScalarBody, ["isLooped"]>,
    DeclareOpInterfaceMethods<Reduction, ["getPartialTypes", "getNumAccumulators", "emitIdentities", "emitElement",
                                          "emitPartial", "emitMerge", "emitResult"]>,
    DeclareOpInterfaceMethods<CostModel, ["getFlops"]>,
    DeclareOpInterfaceMethods<PrecisionRole, ["getPrecisionRole"]>]> {
  let summary = "sum of the squares of differences from the mean over `dims`, which are removed";
  let description = [{
    `dims` increases strictly. The result over no elements is 0. 16-bit elements are accumulated in f32. Kernels read
    the operand once: a thread adds up differences from its first element and their squares, which gives the mean and
    the result of its own elements, and these are merged with those of other threads (Chan, Golub and LeVeque,
    "Algorithms for Computing the Sample Variance", 1983).
  }];
  let arguments = (ins Ingot_FloatTensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Ingot_FloatTensor:$result);
  let assemblyFormat = "$operand `dims` `=` $dims attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = roundsMoreThanOnce;
}

def ArgMaxOp : Ingot_ComputeOp<"argmax", [
    DeclareOpInterfaceMethods<InferTypeOpInterface>,
    DeclareOpInterfaceMethods<ScalarBody, ["isLooped"]>]> {
  let summary = "index (i64) of the largest element along `dim`, the first of equals";
  let description = "`dim` is removed and must not be empty. A NaN counts as largest.";
  let arguments = (ins Ingot_NumberTensor:$operand, I64Attr:$dim);
  let results = (outs Ingot_IndexTensor:$result);
  let assemblyFormat = "$operand `dim` `=` $dim attr-dict `:` functional-type(operands, results)";
}

#endif // INGOT_DIALECTS_INGOT_REDUCTION_REDUCTION_TD
