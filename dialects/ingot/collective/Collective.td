// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Collectives: ops in which the ranks of a run exchange data.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_COLLECTIVE_COLLECTIVE_TD
#define INGOT_DIALECTS_INGOT_COLLECTIVE_COLLECTIVE_TD

include "dialects/ingot/ir/Dialect.td"
include "dialects/ingot/reduction/ReductionKind.td"

def Ingot_CompressionFormat : I32EnumAttr<"CompressionFormat", "encoding of a bucket's payload", [
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
  let summary = "starts the all-reduce of a bucket of tensors over ranks";
  let description = [{
    The bucket contains the parts at offsets that are multiples of 64 bytes. The all-reduce is in flight until the
    wait, and no other op may use the bucket; computation overlaps with it. `blocking` states that the step cannot
    continue without the sums. With `compression`, the bucket is f32, and its payload is encoded in fewer bytes, which
    represent the result of a `compress` with the same `compression` and `k` exactly. With `kind`, `max` or `min`, the
    result is the largest or the smallest element instead of their sum. Without `over`, ranks that train on different
    samples take part.

    ```mlir
    %bucket = ingot.all_reduce_start %a, %b : (tensor<4x4xf32>, tensor<2xf32>) -> tensor<18xf32>
    %c, %d = ingot.all_reduce_wait %bucket : (tensor<18xf32>) -> (tensor<4x4xf32>, tensor<2xf32>)
    ```
  }];
  let arguments = (ins Variadic<Ingot_FloatTensor>:$parts, UnitAttr:$blocking,
                       DefaultValuedAttr<Ingot_CompressionFormatAttr, "::ingot::CompressionFormat::None">:$compression,
                       DefaultValuedAttr<I64Attr, "0">:$k,
                       DefaultValuedAttr<Ingot_ReductionKindAttr, "::ingot::ReductionKind::Sum">:$kind,
                       OptionalAttr<DenseI64ArrayAttr>:$axes);
  let results = (outs Ingot_FloatTensor:$bucket);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$parts, CArg<"bool", "false">:$blocking,
                                 CArg<"::ingot::CompressionFormat", "::ingot::CompressionFormat::None">:$compression,
                                 CArg<"int64_t", "0">:$k,
                                 CArg<"::ingot::ReductionKind", "::ingot::ReductionKind::Sum">:$kind)>];
  let assemblyFormat = "$parts (`over` custom<Axes>($axes)^)? attr-dict `:` functional-type(operands, results)";
}

def AllReduceWaitOp : Ingot_CollectiveOp<"all_reduce_wait", "false", ["isBlocking"]> {
  let summary = "waits for an all-reduce and unpacks its bucket: what all ranks have together";
  let arguments = (ins Ingot_FloatTensor:$bucket);
  let results = (outs Variadic<Ingot_FloatTensor>:$parts);
  let assemblyFormat = "$bucket attr-dict `:` functional-type(operands, results)";
}

def ReduceScatterStartOp : Ingot_CollectiveOp<"reduce_scatter_start", "true"> {
  let summary = "starts the reduce-scatter of a bucket of tensors: each rank receives its shard of the sums over ranks";
  let description = [{
    The op is like `all_reduce_start`, with half the communication; parts start at multiples of 32 elements, so that
    tensors of other element types can have the same shards.

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
  let summary = "waits for a reduce-scatter and unpacks its bucket: elements in the rank's shard are sums over ranks";
  let description = [{
    The other elements are unspecified: only elementwise ops, `shard_square_sum` and `all_gather_start` accept such a
    tensor.
  }];
  let arguments = (ins Ingot_FloatTensor:$bucket);
  let results = (outs Variadic<Ingot_FloatTensor>:$parts);
  let assemblyFormat = "$bucket attr-dict `:` functional-type(operands, results)";
}

def AllGatherStartOp : Ingot_CollectiveOp<"all_gather_start", "true"> {
  let summary = "starts the all-gather of a bucket of tensors of which each rank owns its shard";
  let description = [{
    The op is the inverse of `reduce_scatter_wait`, with the same layout.

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
  let summary = "waits for an all-gather and unpacks its bucket: every rank has all elements";
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
  let summary = "starts the all-gather of new values of states, which overlaps with the next forward pass";
  let description = [{
    Each result is the operand at the same position, of which the rank owns its shard. The function returns it as the
    value of a state with `gathered`. The all-gather of the bucket, in the memory of the states, starts when the step
    has computed everything else, and is in flight until a function needs one of the states: functions read the values
    of such states from `state_gather_wait`.

    ```mlir
    %u, %v = ingot.state_gather_start 0 %a, %b at [0, 32] of 34 : (tensor<4x4xf32>, tensor<2xf32>) -> (tensor<4x4xf32>, tensor<2xf32>)
    return %u, %v
    ```
  }];
}

def StateGatherWaitOp : Ingot_StateGatherOp<"state_gather_wait"> {
  let summary = "waits for values of states whose all-gather is in flight: every rank has all elements";
  let description = [{
    The operands are arguments of the function for states with `gathered`, some or all of one bucket.

    ```mlir
    %u, %v = ingot.state_gather_wait 0 %a, %b at [0, 32] of 34 : (tensor<4x4xf32>, tensor<2xf32>) -> (tensor<4x4xf32>, tensor<2xf32>)
    ```
  }];
}

def CompressOp : Ingot_ComputeOp<"compress", [DeclareOpInterfaceMethods<LibraryCall>, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<Decomposable>, DeclareOpInterfaceMethods<CostModel, ["getFlops"]>,
    DeclareOpInterfaceMethods<PrecisionRole, ["getPrecisionRole"]>]> {
  let summary = "quantizes and dequantizes a tensor (int8 blocks), or sparsifies it (top-k)";
  let description = [{
    The result is the tensor that the compressed payload represents. `int8`: each element becomes an integer from -127
    to 127 times the scale of its block of 256 elements, in row-major order: the largest magnitude of the block / 127.
    In a block that is not finite, all elements are NaN. `topk`: the `k` elements of largest magnitude are kept, the
    first of equal ones, with NaN above all; all others are zero.

    The decomposition of `topk`, which GPUs execute, searches the smallest element that is kept, by its magnitude and
    index as one number, four bits at a time: each round counts the elements that are at least each of 15 candidates.

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
    DeclareOpInterfaceMethods<CostModel, ["getFlops"]>,
    DeclareOpInterfaceMethods<PrecisionRole, ["getPrecisionRole"]>]> {
  let summary = "the sum of the squares of a tensor's elements in the rank's shard";
  let description = [{
    The tensor is at offset `first` of a bucket of `of` elements. The sum of the results over ranks is the square of
    the norm.
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
