// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Collectives: what the ranks of a run compute together.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_COLLECTIVE_COLLECTIVE_TD
#define INGOT_DIALECTS_INGOT_COLLECTIVE_COLLECTIVE_TD

include "dialects/ingot/ir/Dialect.td"

def Ingot_CompressionFormat : I32EnumAttr<"CompressionFormat", "how the elements of a bucket are sent", [
    I32EnumAttrCase<"None", 0, "none">,
    I32EnumAttrCase<"Int8", 1, "int8">,
    I32EnumAttrCase<"TopK", 2, "topk">]> {
  let cppNamespace = "::ingot";
  let genSpecializedAttr = 0;
}
def Ingot_CompressionFormatAttr : EnumAttr<Ingot_Dialect, Ingot_CompressionFormat, "compression">;

class Ingot_CollectiveOp<string mnemonic, string sharded = "false", list<string> methods = []>
    : Ingot_ComputeOp<mnemonic, [DeclareOpInterfaceMethods<LibraryCall, ["getCallBuffers"]>,
        DeclareOpInterfaceMethods<BucketEnd, !listconcat(["isSharded"], methods)>,
        DeclareOpInterfaceMethods<PrecisionRole, ["getPrecisionRole"]>]> {
  let extraClassDefinition = [{
    ::ingot::Precision $cppClass::getPrecisionRole() { return ::ingot::Precision::Keep; }
    bool $cppClass::isSharded() { return }] # sharded # [{; }
  }];
  let hasVerifier = 1;
}

def AllReduceStartOp : Ingot_CollectiveOp<"all_reduce_start", "false", ["isBlocking"]> {
  let summary = "starts to add up a bucket of tensors over the ranks of the run";
  let description = [{
    The bucket holds the parts one after another, each from a multiple of 64 bytes on. Communication goes on
    behind what runs until the wait; nothing else may use the bucket. `blocking` says that the step needs the sums
    to go on. With `compression` the bucket is f32, and sent in fewer bytes, which hold all of what comes from a
    `compress` with the same `compression` and `k`.

    ```mlir
    %bucket = ingot.all_reduce_start %a, %b : (tensor<4x4xf32>, tensor<2xf32>) -> tensor<18xf32>
    %c, %d = ingot.all_reduce_wait %bucket : (tensor<18xf32>) -> (tensor<4x4xf32>, tensor<2xf32>)
    ```
  }];
  let arguments = (ins Variadic<Ingot_FloatTensor>:$parts, UnitAttr:$blocking,
                       DefaultValuedAttr<Ingot_CompressionFormatAttr, "::ingot::CompressionFormat::None">:$compression,
                       DefaultValuedAttr<I64Attr, "0">:$k);
  let results = (outs Ingot_FloatTensor:$bucket);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$parts, CArg<"bool", "false">:$blocking,
                                 CArg<"::ingot::CompressionFormat", "::ingot::CompressionFormat::None">:$compression,
                                 CArg<"int64_t", "0">:$k)>];
  let assemblyFormat = "$parts attr-dict `:` functional-type(operands, results)";
}

def AllReduceWaitOp : Ingot_CollectiveOp<"all_reduce_wait", "false", ["isBlocking"]> {
  let summary = "waits for a bucket and unpacks it: each element is the sum over ranks";
  let arguments = (ins Ingot_FloatTensor:$bucket);
  let results = (outs Variadic<Ingot_FloatTensor>:$parts);
  let assemblyFormat = "$bucket attr-dict `:` functional-type(operands, results)";
}

def ReduceScatterStartOp : Ingot_CollectiveOp<"reduce_scatter_start", "true"> {
  let summary = "starts to add up a bucket of tensors over ranks, each of which gets its shard of the sums";
  let description = [{
    As `all_reduce_start`, with half the communication; parts start at multiples of 32 elements, so that tensors of
    other element types can have the same shards.

    ```mlir
    %bucket = ingot.reduce_scatter_start %a, %b : (tensor<4x4xf32>, tensor<2xf32>) -> tensor<34xf32>
    %c, %d = ingot.reduce_scatter_wait %bucket : (tensor<34xf32>) -> (tensor<4x4xf32>, tensor<2xf32>)
    ```
  }];
  let arguments = (ins Variadic<Ingot_FloatTensor>:$parts);
  let results = (outs Ingot_FloatTensor:$bucket);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$parts)>];
  let assemblyFormat = "$parts attr-dict `:` functional-type(operands, results)";
}

def ReduceScatterWaitOp : Ingot_CollectiveOp<"reduce_scatter_wait", "true"> {
  let summary = "waits for a bucket and unpacks it: elements in the rank's shard are sums over ranks";
  let description = [{
    The other elements are unspecified: only elementwise ops, `shard_square_sum` and `all_gather_start` take
    such a tensor.
  }];
  let arguments = (ins Ingot_FloatTensor:$bucket);
  let results = (outs Variadic<Ingot_FloatTensor>:$parts);
  let assemblyFormat = "$bucket attr-dict `:` functional-type(operands, results)";
}

def AllGatherStartOp : Ingot_CollectiveOp<"all_gather_start", "true"> {
  let summary = "starts to collect a bucket of tensors of which each rank has its shard";
  let description = [{
    The opposite of `reduce_scatter_wait`, with the same layout.

    ```mlir
    %bucket = ingot.all_gather_start %a, %b : (tensor<4x4xf32>, tensor<2xf32>) -> tensor<34xf32>
    %c, %d = ingot.all_gather_wait %bucket : (tensor<34xf32>) -> (tensor<4x4xf32>, tensor<2xf32>)
    ```
  }];
  let arguments = (ins Variadic<Ingot_FloatTensor>:$parts);
  let results = (outs Ingot_FloatTensor:$bucket);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$parts)>];
  let assemblyFormat = "$parts attr-dict `:` functional-type(operands, results)";
}

def AllGatherWaitOp : Ingot_CollectiveOp<"all_gather_wait", "true"> {
  let summary = "waits for a bucket and unpacks it: every rank has all elements";
  let arguments = (ins Ingot_FloatTensor:$bucket);
  let results = (outs Variadic<Ingot_FloatTensor>:$parts);
  let assemblyFormat = "$bucket attr-dict `:` functional-type(operands, results)";
}

class Ingot_StateGatherOp<string mnemonic> : Ingot_Op<mnemonic, [Pure, SameBytes]> {
  let arguments = (ins Variadic<Ingot_FloatTensor>:$parts, I64Attr:$bucket, DenseI64ArrayAttr:$firsts, I64Attr:$of);
  let results = (outs Variadic<Ingot_FloatTensor>:$results);
  let assemblyFormat = "$bucket $parts `at` $firsts `of` $of attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$parts, "int64_t":$bucket,
                                 "::llvm::ArrayRef<int64_t>":$firsts, "int64_t":$of)>];
  let hasVerifier = 1;
}

def StateGatherStartOp : Ingot_StateGatherOp<"state_gather_start"> {
  let summary = "new values of states, which are collected from all ranks behind the end of the step";
  let description = [{
    Each result is the operand of the same position, of which the rank has its shard. The function returns it as the
    value of
    a state with `gathered`. What collects the bucket, in the memory of the states, starts when the step has computed
    everything, and
    goes on until a function needs one of them: it takes the values of all arguments for such states from
    `state_gather_wait`.

    ```mlir
    %u, %v = ingot.state_gather_start 0 %a, %b at [0, 32] of 34 : (tensor<4x4xf32>, tensor<2xf32>) -> (tensor<4x4xf32>, tensor<2xf32>)
    return %u, %v
    ```
  }];
}

def StateGatherWaitOp : Ingot_StateGatherOp<"state_gather_wait"> {
  let summary = "waits, if its bucket is under way, for values of states: every rank has all elements";
  let description = [{
    The operands are arguments of the function for states with `gathered`, in one bucket, some of them or all.

    ```mlir
    %u, %v = ingot.state_gather_wait 0 %a, %b at [0, 32] of 34 : (tensor<4x4xf32>, tensor<2xf32>) -> (tensor<4x4xf32>, tensor<2xf32>)
    ```
  }];
}

def CompressOp : Ingot_ComputeOp<"compress", [DeclareOpInterfaceMethods<LibraryCall>, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<Decomposable>, DeclareOpInterfaceMethods<CostModel, ["getFlops"]>,
    DeclareOpInterfaceMethods<PrecisionRole, ["getPrecisionRole"]>]> {
  let summary = "the tensor as its compressed payload represents it: int8 blocks or top-k";
  let description = [{
    `int8`: each element as an integer from -127 to 127 times the scale of its block of 256 elements, in row-major
    order: its
    largest magnitude / 127. In a block that is not finite, all elements are NaN. `topk`: the `k` elements of largest
    magnitude,
    the first of equal ones, NaN above all; zeros elsewhere.

    Decomposed, for GPUs, `topk` finds the last element to be kept by its magnitude and index as one
    number, four
    bits at a time: each time it counts the elements that are at least 15 candidates.

    ```mlir
    %sent = ingot.compress %x {compression = #ingot<compression topk>, k = 12 : i64} : tensor<1200xf32>
    ```
  }];
  let arguments = (ins Ingot_TensorOf<[F32]>:$input, Ingot_CompressionFormatAttr:$compression,
                       DefaultValuedAttr<I64Attr, "0">:$k);
  let results = (outs Ingot_TensorOf<[F32]>:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::ingot::Precision $cppClass::getPrecisionRole() { return ::ingot::Precision::Keep; }
    int64_t $cppClass::getFlops() { return 2 * getInput().getType().getNumElements(); }
  }];
}

def ShardSquareSumOp : Ingot_ComputeOp<"shard_square_sum", [DeclareOpInterfaceMethods<LibraryCall>,
    DeclareOpInterfaceMethods<CostModel, ["getFlops"]>, DeclareOpInterfaceMethods<PrecisionRole,
    ["getPrecisionRole"]>]> {
  let summary = "the sum of the squares of a tensor's elements that are in the rank's shard";
  let description = [{
    `first` and `of` place the tensor in a bucket of `of` elements. Summed over ranks, it is the square of the norm.
  }];
  let arguments = (ins Ingot_FloatTensor:$input, I64Attr:$first, I64Attr:$of);
  let results = (outs Ingot_TensorOf<[F64]>:$result);
  let assemblyFormat = "$input `at` $first `of` $of attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::ingot::Precision $cppClass::getPrecisionRole() { return ::ingot::Precision::Keep; }
    int64_t $cppClass::getFlops() { return 2 * getInput().getType().getNumElements(); }
  }];
}

#endif // INGOT_DIALECTS_INGOT_COLLECTIVE_COLLECTIVE_TD
