//===----------------------------------------------------------------------===//
// Reductions: dimensions folded away.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_REDUCTION_REDUCTION_TD
#define INGOT_DIALECTS_INGOT_REDUCTION_REDUCTION_TD

include "dialects/ingot/ir/Dialect.td"

def Ingot_ReductionKind : I32EnumAttr<"ReductionKind", "reduction", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">]> {
  let cppNamespace = "::ingot";
  let genSpecializedAttr = 0;
}
def Ingot_ReductionKindAttr
    : EnumAttr<Ingot_Dialect, Ingot_ReductionKind, "reduction_kind">;

def ReduceOp : Ingot_ComputeOp<"reduce", [
    DeclareOpInterfaceMethods<InferTypeOpInterface>,
    DeclareOpInterfaceMethods<ScalarBody, ["isLooped"]>,
    DeclareOpInterfaceMethods<Reduction>,
    DeclareOpInterfaceMethods<RowSplit>,
    DeclareOpInterfaceMethods<Permutable, ["carriesResults", "permute"]>,
    DeclareOpInterfaceMethods<Differentiable>,
    DeclareOpInterfaceMethods<CostModel, ["getFlops"]>,
    DeclareOpInterfaceMethods<PrecisionRole, ["getPrecisionRole"]>]> {
  let summary = "sum, product, maximum or minimum over `dims`, which disappear";
  let description = [{
    `dims` increases strictly. Over no elements: 0, 1, the lowest, the highest value.
    Half precision accumulates in f32. max and min return NaN if there is one; their gradient is shared
    equally by the elements that attain the extremum. The product's gradient is
    defined where no element is 0.
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

def ArgMaxOp : Ingot_ComputeOp<"argmax", [
    DeclareOpInterfaceMethods<InferTypeOpInterface>,
    DeclareOpInterfaceMethods<RowSplit>,
    DeclareOpInterfaceMethods<ScalarBody, ["isLooped"]>]> {
  let summary = "index (i64) of the largest element along `dim`, the first of equals";
  let description = "`dim` disappears and is not empty. A NaN counts as largest.";
  let arguments = (ins Ingot_NumberTensor:$operand, I64Attr:$dim);
  let results = (outs Ingot_IndexTensor:$result);
  let assemblyFormat = "$operand `dim` `=` $dim attr-dict `:` functional-type(operands, results)";
}

#endif // INGOT_DIALECTS_INGOT_REDUCTION_REDUCTION_TD
