// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Shape ops, which move elements without computing, and constants and gathers.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_SHAPE_SHAPE_TD
#define INGOT_DIALECTS_INGOT_SHAPE_SHAPE_TD

include "dialects/ingot/ir/Dialect.td"

class Ingot_ShapeOp<string mnemonic, list<Trait> traits = [],
                    list<string> bodyMethods = []>
    : Ingot_ComputeOp<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<CostModel, ["getFlops"]>,
        DeclareOpInterfaceMethods<ScalarBody, bodyMethods>])> {
  let extraClassDefinition = [{
    int64_t $cppClass::getFlops() { return 0; }
  }];
}

def ConstantOp : Ingot_ShapeOp<"constant", [ConstantLike,
    DeclareOpInterfaceMethods<Permutable, ["permute"]>,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "a tensor known at compile time";
  let description = "Code generation supports splats in kernels; other constants become read-only data.";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Ingot_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def IotaOp : Ingot_ShapeOp<"iota",
    [DeclareOpInterfaceMethods<Permutable, ["permute"]>]> {
  let summary = "the index along dimension `dim`";
  let arguments = (ins I64Attr:$dim);
  let results = (outs Ingot_NumberTensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def BroadcastOp : Ingot_ShapeOp<"broadcast",
    [DeclareOpInterfaceMethods<MovesElements>, DeclareOpInterfaceMethods<Permutable, ["carriesOperand", "permute"]>,
     DeclareOpInterfaceMethods<Differentiable>], ["getReadDims"]> {
  let summary = "repeats the operand along new dimensions and along dimensions of size 1";
  let description = [{
    Operand dimension i becomes result dimension `dims[i]`; its size is that of
    the result or 1. `dims` increases strictly.
  }];
  let arguments = (ins Ingot_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Ingot_Tensor:$result);
  let assemblyFormat = "$operand `dims` `=` $dims attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def ReshapeOp : Ingot_ShapeOp<"reshape",
    [SameBytes, DeclareOpInterfaceMethods<MovesElements>,
     DeclareOpInterfaceMethods<Differentiable>]> {
  let summary = "the same elements in row-major order under another shape";
  let arguments = (ins Ingot_StoredTensor:$operand);
  let results = (outs Ingot_StoredTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TransposeOp : Ingot_ShapeOp<"transpose",
    [DeclareOpInterfaceMethods<MovesElements>, DeclareOpInterfaceMethods<Differentiable>,
     DeclareOpInterfaceMethods<InferTypeOpInterface>], ["getReadDims"]> {
  let summary = "result dimension i is operand dimension permutation[i]";
  let arguments = (ins Ingot_StoredTensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Ingot_StoredTensor:$result);
  let assemblyFormat = "$operand $permutation attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def SliceOp : Ingot_ShapeOp<"slice",
    [DeclareOpInterfaceMethods<MovesElements>, DeclareOpInterfaceMethods<Permutable, ["permute"]>,
     DeclareOpInterfaceMethods<Differentiable>,
     DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "elements starts[i], starts[i] + strides[i], ... below limits[i]";
  let description = "Strides are positive; a negative step is expressed as a slice of a `reverse`.";
  let arguments = (ins Ingot_Tensor:$operand, DenseI64ArrayAttr:$starts,
                       DenseI64ArrayAttr:$limits, DenseI64ArrayAttr:$strides);
  let results = (outs Ingot_Tensor:$result);
  let assemblyFormat = [{
    $operand `starts` `=` $starts `limits` `=` $limits `strides` `=` $strides attr-dict
    `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def PadOp : Ingot_ShapeOp<"pad",
    [DeclareOpInterfaceMethods<Permutable, ["permute"]>,
     DeclareOpInterfaceMethods<Differentiable>,
     DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "surrounds the operand with `value`";
  let description = [{
    `low[i]` elements before, `high[i]` after and `interior[i]` between
    neighbours along dimension i, all at least 0.
  }];
  let arguments = (ins Ingot_Tensor:$operand, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$interior,
                       F64Attr:$value);
  let results = (outs Ingot_Tensor:$result);
  let assemblyFormat = [{
    $operand `low` `=` $low `high` `=` $high `interior` `=` $interior
    `value` `=` $value attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def ConcatOp : Ingot_ShapeOp<"concat",
    [DeclareOpInterfaceMethods<Permutable, ["permute"]>,
     DeclareOpInterfaceMethods<Differentiable>,
     DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "concatenates the operands along `dim`";
  let arguments = (ins Variadic<Ingot_Tensor>:$inputs, I64Attr:$dim);
  let results = (outs Ingot_Tensor:$result);
  let assemblyFormat = "$inputs `dim` `=` $dim attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def ReverseOp : Ingot_ShapeOp<"reverse",
    [SameOperandsAndResultType, DeclareOpInterfaceMethods<Permutable, ["permute"]>,
     DeclareOpInterfaceMethods<Differentiable>]> {
  let summary = "reverses the order of elements along `dims`";
  let arguments = (ins Ingot_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Ingot_Tensor:$result);
  let assemblyFormat = "$operand `dims` `=` $dims attr-dict `:` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def PackBitsOp : Ingot_ShapeOp<"pack_bits"> {
  let summary = "packs eight booleans of the last dimension into each byte";
  let description = [{
    The first boolean is the lowest bit. Unused bits of the last byte are 0.
  }];
  let arguments = (ins Ingot_BoolTensor:$operand);
  let results = (outs Ingot_TensorOf<[UI8]>:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def UnpackBitsOp : Ingot_ShapeOp<"unpack_bits"> {
  let summary = "unpacks the booleans that `pack_bits` packed";
  let arguments = (ins Ingot_TensorOf<[UI8]>:$operand);
  let results = (outs Ingot_BoolTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def GatherOp : Ingot_ShapeOp<"gather",
    [DeclareOpInterfaceMethods<Differentiable>, DeclareOpInterfaceMethods<IndexesElements>,
     DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "selects rows of the operand by indices along `dim`";
  let description = [{
    result[a..., i..., b...] = operand[a..., indices[i...], b...] where `a` are the
    dimensions before `dim` and `b` those after. An index outside the dimension is clamped into it.
  }];
  let arguments = (ins Ingot_Tensor:$operand, Ingot_IndexTensor:$indices, I64Attr:$dim);
  let results = (outs Ingot_Tensor:$result);
  let assemblyFormat = "$operand `[` $indices `]` `dim` `=` $dim attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def TakeAlongOp : Ingot_ShapeOp<"take_along",
    [DeclareOpInterfaceMethods<Differentiable>, DeclareOpInterfaceMethods<IndexesElements>,
     DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "selects one element per index along `dim`, with the other coordinates unchanged";
  let description = [{
    result[..., i, ...] = operand[..., indices[..., i, ...], ...]. The indices have
    the operand's rank and, except along `dim`, its sizes. Indices are clamped.
  }];
  let arguments = (ins Ingot_Tensor:$operand, Ingot_IndexTensor:$indices, I64Attr:$dim);
  let results = (outs Ingot_Tensor:$result);
  let assemblyFormat = "$operand `[` $indices `]` `dim` `=` $dim attr-dict `:` functional-type(operands, results)";
}

def ScatterAddOp : Ingot_ComputeOp<"scatter_add",
    [DeclareOpInterfaceMethods<KernelBody, ["readsPointwise"]>,
     DeclareOpInterfaceMethods<Differentiable>, DeclareOpInterfaceMethods<IndexesElements>]> {
  let summary = "adds rows into a tensor at indices along `dim`: the gradient of gather";
  let description = [{
    result[a..., r, b...] is init[a..., r, b...], or zero without `init`, plus updates[a..., i..., b...] for all i
    with indices[i...] = r, in the order of i. Indices are clamped. The result may reuse the memory of `init`; only
    the rows that receive updates are then accessed.
  }];
  let arguments = (ins Ingot_IndexTensor:$indices, Ingot_FloatTensor:$updates,
                       Optional<Ingot_FloatTensor>:$init, I64Attr:$dim);
  let results = (outs Ingot_FloatTensor:$result);
  let assemblyFormat = [{
    $updates `[` $indices `]` (`into` $init^)? `dim` `=` $dim attr-dict `:`
    functional-type(operands, results)
  }];
  let extraClassDeclaration = roundsMoreThanOnce;
  let hasVerifier = 1;
}

def Ingot_ScatterKind : I32EnumAttr<"ScatterKind", "combination of an element with an update", [
    I32EnumAttrCase<"Set", 0, "set">, I32EnumAttrCase<"Add", 1, "add">,
    I32EnumAttrCase<"Mul", 2, "mul">, I32EnumAttrCase<"Max", 3, "max">,
    I32EnumAttrCase<"Min", 4, "min">]> {
  let cppNamespace = "::ingot";
  let genSpecializedAttr = 0;
}
def Ingot_ScatterKindAttr : EnumAttr<Ingot_Dialect, Ingot_ScatterKind, "scatter_kind">;

def ScatterOp : Ingot_ComputeOp<"scatter",
    [AllTypesMatch<["init", "result"]>,
     DeclareOpInterfaceMethods<KernelBody, ["readsPointwise"]>,
     DeclareOpInterfaceMethods<Differentiable>, DeclareOpInterfaceMethods<IndexesElements>]> {
  let summary = "replaces elements at indices along `dim`, or combines them with updates";
  let description = [{
    The updates have the shape of `init` except along `dim`. The indices have the shape of the updates, or are a
    vector that holds for all other coordinates. Each update is combined with the element that its index selects
    along `dim`, the other coordinates being its own, in increasing order of its coordinate along `dim`: `set` keeps
    the last one, `add`, `mul`, `max` and `min` round to the element type each time. Indices are clamped. The result
    may reuse the memory of `init`.

    Of `set`, the update that is kept gets the gradient. Of `max` and `min`, all operands that attain the extremum
    share it equally. That of `mul` is defined where no operand is 0.
  }];
  let arguments = (ins Ingot_ScatterKindAttr:$kind, Ingot_Tensor:$init, Ingot_IndexTensor:$indices,
                       Ingot_Tensor:$updates, I64Attr:$dim);
  let results = (outs Ingot_Tensor:$result);
  let assemblyFormat = [{
    `` $kind $updates `[` $indices `]` `into` $init `dim` `=` $dim attr-dict `:`
    type($updates) `,` type($indices) `,` type($result)
  }];
  let extraClassDeclaration = roundsMoreThanOnce;
  let hasVerifier = 1;
}

#endif // INGOT_DIALECTS_INGOT_SHAPE_SHAPE_TD
