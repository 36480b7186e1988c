// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Exchanges: ops in which ranks exchange one tensor over axes of their mesh, in
// value semantics. They are generated apart from the other ops, because few
// passes know them.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_EXCHANGE_EXCHANGE_TD
#define INGOT_DIALECTS_INGOT_EXCHANGE_EXCHANGE_TD

include "dialects/ingot/reduction/ReductionKind.td"

def Exchange : OpInterface<"Exchange"> {
  let cppNamespace = "::ingot";
  let description = [{
    An exchange of one tensor among ranks, in value semantics. Once everything else is known, `--ingot-form-buckets`
    makes collectives in flight of sums over `data`, and `--ingot-lower-exchanges` all-reduces and all-gathers, for
    which the step waits, of the others.
  }];
  let methods = [
    InterfaceMethod<
      "Returns the axes (Axis) along which the ranks differ, major first.",
      "::llvm::ArrayRef<int64_t>", "getExchangeAxes", (ins)>,
    InterfaceMethod<[{
      Returns the result by ops that targets compute, and by exchanges with library calls, for which the parts of ranks
      are one after the other in memory. `getPlace` builds the place of the rank in the group, a scalar i64. The result
      of an exchange that has a library call itself is its own; null if ranks cannot exchange this yet.
    }], "::mlir::Value", "buildTransport",
      (ins "::mlir::OpBuilder &":$builder, "::llvm::function_ref<::mlir::Value()>":$getPlace)>,
    InterfaceMethod<"Returns the bytes that each of `ranks` ranks sends at least.",
      "double", "getSentBytes", (ins "int64_t":$ranks)>,
    InterfaceMethod<
      "Returns whether elements stay in their place along a dimension: the exchange of a range of it is that range.",
      "bool", "keepsDim", (ins "int64_t":$dim)>];
}

defvar exchangeMethods = [{
  ::ingot::Precision $cppClass::getPrecisionRole() { return ::ingot::Precision::Keep; }
  ::llvm::ArrayRef<int64_t> $cppClass::getExchangeAxes() { return getAxes(); }
}];

/// An exchange of one tensor among the ranks that differ in their coordinates on `axes` only.
class Ingot_ExchangeOp<string mnemonic, list<Trait> traits = []>
    : Ingot_ComputeOp<mnemonic, !listconcat(traits, [DeclareOpInterfaceMethods<Exchange>,
        DeclareOpInterfaceMethods<CostModel, ["getFlops"]>,
        DeclareOpInterfaceMethods<PrecisionRole, ["getPrecisionRole"]>])> {
  let extraClassDefinition = exchangeMethods # [{
    int64_t $cppClass::getFlops() { return 0; }
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
}

def AllReduceOp : Ingot_ExchangeOp<"all_reduce", [SameOperandsAndResultType,
    DeclareOpInterfaceMethods<Differentiable>, DeclareOpInterfaceMethods<LibraryCall, ["refuseCall"]>]> {
  let summary = "the sum, maximum or minimum of the ranks' tensors, on each of them";
  let description = [{
    `gradient_of` names the parameter whose gradient is summed.

    ```mlir
    %sum = ingot.all_reduce sum %x over [data] : tensor<4x4xf32>
    %all = ingot.all_reduce sum %g over [data] gradient_of @w : tensor<4x4xf32>
    ```
  }];
  let arguments = (ins Ingot_ReductionKindAttr:$kind, Ingot_NumberTensor:$operand, DenseI64ArrayAttr:$axes,
                       OptionalAttr<FlatSymbolRefAttr>:$gradient_of);
  let results = (outs Ingot_NumberTensor:$result);
  let builders = [OpBuilder<(ins "::ingot::ReductionKind":$kind, "::mlir::Value":$operand,
                                 "::llvm::ArrayRef<int64_t>":$axes,
                                 CArg<"::mlir::FlatSymbolRefAttr", "{}">:$gradientOf)>];
  let assemblyFormat = [{
    `` $kind $operand `over` custom<Axes>($axes) (`gradient_of` $gradient_of^)? attr-dict `:` type($operand)
  }];
  let extraClassDefinition = exchangeMethods # [{
    int64_t $cppClass::getFlops() { return getType().getNumElements(); }
  }];
}

def AllGatherOp : Ingot_ExchangeOp<"all_gather", [DeclareOpInterfaceMethods<Differentiable>,
    DeclareOpInterfaceMethods<LibraryCall, ["refuseCall"]>]> {
  let summary = "the ranks' tensors one after the other along `dim`, on each of them";
  let description = [{
    ```mlir
    %whole = ingot.all_gather %part dim 0 over [tensor] : tensor<2x4xf32> -> tensor<4x4xf32>
    ```
  }];
  let arguments = (ins Ingot_StoredTensor:$operand, I64Attr:$dim, DenseI64ArrayAttr:$axes);
  let results = (outs Ingot_StoredTensor:$result);
  let assemblyFormat = "$operand `dim` $dim `over` custom<Axes>($axes) attr-dict `:` type($operand) `->` type($result)";
}

def ReduceScatterOp : Ingot_ExchangeOp<"reduce_scatter", [DeclareOpInterfaceMethods<Differentiable>,
    DeclareOpInterfaceMethods<LibraryCall, ["refuseCall"]>]> {
  let summary = "a rank's part along `dim` of the sum, maximum or minimum of the ranks' tensors";
  let description = [{
    ```mlir
    %part = ingot.reduce_scatter sum %x dim 0 over [tensor] : tensor<4x4xf32> -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Ingot_ReductionKindAttr:$kind, Ingot_NumberTensor:$operand, I64Attr:$dim,
                       DenseI64ArrayAttr:$axes);
  let results = (outs Ingot_NumberTensor:$result);
  let assemblyFormat = [{
    `` $kind $operand `dim` $dim `over` custom<Axes>($axes) attr-dict `:` type($operand) `->` type($result)
  }];
  let extraClassDefinition = exchangeMethods # [{
    int64_t $cppClass::getFlops() { return getOperand().getType().getNumElements(); }
  }];
}

def AllToAllOp : Ingot_ExchangeOp<"all_to_all", [DeclareOpInterfaceMethods<Differentiable>,
    DeclareOpInterfaceMethods<LibraryCall, ["refuseCall"]>]> {
  let summary = "each rank's part along `split` of the ranks' tensors, one after the other along `concat`";
  let description = [{
    ```mlir
    %heads = ingot.all_to_all %rows split 1 concat 0 over [context] : tensor<2x4xf32> -> tensor<4x2xf32>
    ```
  }];
  let arguments = (ins Ingot_StoredTensor:$operand, I64Attr:$split, I64Attr:$concat, DenseI64ArrayAttr:$axes);
  let results = (outs Ingot_StoredTensor:$result);
  let assemblyFormat = [{
    $operand `split` $split `concat` $concat `over` custom<Axes>($axes) attr-dict `:` type($operand) `->` type($result)
  }];
}

def PermuteOp : Ingot_ExchangeOp<"permute", [SameOperandsAndResultType, DeclareOpInterfaceMethods<Differentiable>]> {
  let summary = "the tensor of the rank `by` places before, around the ring of the axis";
  let description = [{
    ```mlir
    %next = ingot.permute %block by 1 over [context] : tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Ingot_StoredTensor:$operand, I64Attr:$by, DenseI64ArrayAttr:$axes);
  let results = (outs Ingot_StoredTensor:$result);
  let assemblyFormat = "$operand `by` $by `over` custom<Axes>($axes) attr-dict `:` type($operand)";
}

def PartOp : Ingot_ExchangeOp<"part"> {
  let summary = "a rank's part along `dim` of a tensor that is equal on all ranks; nothing is sent";
  let description = [{
    ```mlir
    %part = ingot.part %whole dim 0 over [tensor] : tensor<4x4xf32> -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Ingot_StoredTensor:$operand, I64Attr:$dim, DenseI64ArrayAttr:$axes);
  let results = (outs Ingot_StoredTensor:$result);
  let assemblyFormat = "$operand `dim` $dim `over` custom<Axes>($axes) attr-dict `:` type($operand) `->` type($result)";
}

#endif // INGOT_DIALECTS_INGOT_EXCHANGE_EXCHANGE_TD
