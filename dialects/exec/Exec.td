//===----------------------------------------------------------------------===//
//
// The `exec` dialect: a step as it runs. Memory is placed, kernels are symbols,
// and each operation with an effect is one entry of the C ABI (runtime/abi/Abi.h).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_EXEC_EXEC_TD
#define INGOT_DIALECTS_EXEC_EXEC_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::ingot::exec";
  let summary = "Scheduled steps: placed memory, kernel launches, library calls";
  let description = [{
    A step is a `func.func` without arguments whose operations run in order. The
    function's attributes say where its inputs and outputs are:

    | attribute | on | meaning |
    |---|---|---|
    | `exec.arena_bytes` | function | size of the arena the function needs |
    | `exec.inputs`, `exec.outputs` | function | dictionaries with `name`, `kind`, `type`, `offset` (in the arena) |
    | `exec.memory` | function | the parts of the planned peak, in bytes |
    | `exec.staging_bytes` | function | size of the blocks that its inputs come through on a device; part of the workspace |
    | `exec.state_bytes` | module | size of the state block |
    | `exec.offset` | `ingot.state` | the state's place in the state block |
    | `exec.messages` | module | for each place of messages from all ranks: its offset in the table of addresses, and bytes of a rank |
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def Exec_Buffer : StaticShapeMemRefOf<[AnyType]>;

class Exec_Op<string mnemonic, list<Trait> traits = []>
    : Op<Exec_Dialect, mnemonic, traits>;

def AbiCall : OpInterface<"AbiCall"> {
  let cppNamespace = "::ingot::exec";
  let description = "An operation that is a call of one entry of the C ABI.";
  let methods = [
    InterfaceMethod<"The entry's symbol.", "::llvm::StringRef",
      "getEntryPoint", (ins)>,
    InterfaceMethod<[{
      The entry's descriptor, field by field in the order of the C struct. `index` is the
      operation's position among the function's kernels in the manifest.
    }], "::llvm::SmallVector<::ingot::exec::Field>", "getDescriptor",
      (ins "int64_t":$index)>,
    InterfaceMethod<"Floating-point operations of one call.", "int64_t",
      "getCallFlops", (ins)>,
    InterfaceMethod<"Bytes that one call reads and writes.", "int64_t",
      "getCallBytes", (ins)>,
    InterfaceMethod<"What kind of work it is, as the manifest says it.",
      "::llvm::StringRef", "getCallKind", (ins)>,
    InterfaceMethod<[{
      The buffers that the entry takes, in its order; a null value is a null pointer.
    }], "::llvm::SmallVector<::mlir::Value>", "getBuffers", (ins),
      "", "return ::llvm::SmallVector<::mlir::Value>($_op->getOperands());">,
    InterfaceMethod<"Buffers that the entry takes as one array, behind the others.",
      "::llvm::SmallVector<::mlir::Value>", "getTable", (ins),
      "", "return ::llvm::SmallVector<::mlir::Value>();">,
  ];
}

def Exec_Space : I32EnumAttr<"Space", "block of memory", [
    I32EnumAttrCase<"Arena", 0, "arena">, I32EnumAttrCase<"State", 1, "state">,
    I32EnumAttrCase<"Shard", 2, "shard">]> {
  let cppNamespace = "::ingot::exec";
  let genSpecializedAttr = 0;
}
def Exec_SpaceAttr : EnumAttr<Exec_Dialect, Exec_Space, "space">;

def BufferOp : Exec_Op<"buffer", [Pure]> {
  let summary = "a tensor's place: bytes from `offset` on in the arena or the state block";
  let description = [{
    A `shard` is memory that depends on how many ranks there are: of the rank's elements alone, or of messages of all ranks. At
    `offset` in the table of `ingot_shards` is the address that the tensor's first element has or would have.
  }];
  let arguments = (ins Exec_SpaceAttr:$space, I64Attr:$offset);
  let results = (outs Exec_Buffer:$result);
  let assemblyFormat = "$space $offset attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def KernelOp : Exec_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlock]> {
  let summary = "a generated kernel, as the `ingot.fusion` it came from";
  let description = [{
    The body is the fusion's: tensors in, `ingot.yield` of the results. A launch passes
    the inputs' buffers, then the results'. `aliases` names, per input, the result whose
    memory it shares (the input is read only at the element being written), or -1.
    `kind` is the fusion's.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$kind, DenseI64ArrayAttr:$aliases);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$kind $sym_name `aliases` `=` $aliases attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

class Exec_CallOp<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<AbiCall>,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>])>;

def Exec_GridAttr : AttrDef<Exec_Dialect, "Grid"> {
  let mnemonic = "grid";
  let summary = "a device kernel with `grid` blocks of `block` threads, and bytes of memory for each block";
  let parameters = (ins "::mlir::SymbolRefAttr":$kernel, "int64_t":$grid, "int64_t":$block, "int64_t":$shared);
  let assemblyFormat = "`<` $kernel `blocks` $grid `of` $block `shared` $shared `>`";
}

/// A call that takes its buffers as one array.
class Exec_LaunchOp<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<AbiCall, ["getBuffers", "getTable"]>,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>])>;

def LaunchOp : Exec_LaunchOp<"launch", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel";
  let description = [{
    Becomes `ingot_launch`. `extent` independent iterations, at least `grain` a thread, are set by code
    generation, which knows the kernel's loops. `bytes` are what it moves, where that is less than all of its
    buffers. With `shard`, the first element's place in a bucket and the
    bucket's elements, only iterations in the rank's shard run.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Exec_Buffer>:$inputs,
                       Variadic<Exec_Buffer>:$outputs, I64Attr:$flops,
                       OptionalAttr<I64Attr>:$bytes,
                       DefaultValuedAttr<I64Attr, "0">:$extent, DefaultValuedAttr<I64Attr, "0">:$grain,
                       OptionalAttr<DenseI64ArrayAttr>:$shard);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` `->` `(` $outputs `)` attr-dict `:` type($inputs) `->` type($outputs)
  }];
  let hasVerifier = 1;
}

def LaunchGridOp : Exec_LaunchOp<"launch_grid", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a device kernel";
  let description = [{
    Becomes `ingot_launch_grid`: `grid` blocks of `block` threads each. The kernel is a `gpu.func` that
    takes the inputs, then the outputs, and has `shared` bytes of memory for each block. An
    `exec.launch` becomes one or, where sums are split over the device, two of these. With `extent`, the kernel takes a
    range of so many iterations behind them, as two i64: all, or, with `shard`, those in the rank's shard. An extent of
    -1 is the number of ranks. With `any_grid`, any number of blocks computes the same.
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Variadic<Exec_Buffer>:$inputs,
                       Variadic<Exec_Buffer>:$outputs, I64Attr:$flops, OptionalAttr<I64Attr>:$bytes,
                       I64Attr:$grid, I64Attr:$block,
                       DefaultValuedAttr<I64Attr, "0">:$shared, UnitAttr:$any_grid,
                       DefaultValuedAttr<I64Attr, "0">:$extent,
                       OptionalAttr<DenseI64ArrayAttr>:$shard);
  let assemblyFormat = [{
    $kernel `blocks` $grid `of` $block `(` $inputs `)` `->` `(` $outputs `)` attr-dict
    `:` type($inputs) `->` type($outputs)
  }];
  let hasVerifier = 1;
}

/// A call that works in memory of its own, placed in the arena while it runs.
class Exec_LibraryOp<string mnemonic, list<Trait> traits = []>
    : Op<Exec_Dialect, mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<AbiCall, ["getBuffers"]>,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>])>;

def Exec_Scratch : MemRefRankOf<[I8], [1]>;

def MatmulOp : Exec_LibraryOp<"matmul"> {
  let summary = "`ingot_matmul`: result = lhs x rhs over the last two dimensions";
  let arguments = (ins Exec_Buffer:$lhs, Exec_Buffer:$rhs, Exec_Buffer:$result,
                       Optional<Exec_Scratch>:$scratch,
                       UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs, UnitAttr:$on_tiles);
  let assemblyFormat = [{
    $lhs (`transposed` $transpose_lhs^)? `,` $rhs (`transposed` $transpose_rhs^)? `->` $result
    (`scratch` $scratch^ `:` type($scratch) `,`)? attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
}

/// The entry's activation, then the numbers of bias, addend, auxiliary matrix and
/// result in the call's table, the entry's matrix that is summed and the number of
/// its sum; -1 where there is none.
def Exec_LibraryEpilogue : OptionalAttr<DenseI64ArrayAttr>;

def MatmulEpilogueOp : Exec_LaunchOp<"matmul_epilogue", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "`ingot_matmul_epilogue`: a product that a kernel finishes";
  let description = [{
    The call leaves lhs x rhs in the output number `product`. As parts of it are complete, the kernel, of
    kind `epilogue`, turns them into the outputs: it takes the product, then the inputs. Without one the product is the output.

    `library` is for devices (`exec.matmul_epilogue_grid`), and so is the kernel `extra`, which then computes the extra output. It
    reads operands of the call and outputs, as `extra_inputs`. The table has the product, the inputs, the outputs, the extra inputs and the extra output.
  }];
  let arguments = (ins Exec_Buffer:$lhs, Exec_Buffer:$rhs, OptionalAttr<FlatSymbolRefAttr>:$kernel,
                       Variadic<Exec_Buffer>:$inputs, Variadic<Exec_Buffer>:$outputs,
                       OptionalAttr<FlatSymbolRefAttr>:$extra, Variadic<Exec_Buffer>:$extra_inputs,
                       Optional<Exec_Buffer>:$extra_output,
                       I64Attr:$product, Optional<Exec_Scratch>:$scratch,
                       UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs, UnitAttr:$on_tiles, I64Attr:$flops,
                       Exec_LibraryEpilogue:$library);
  let assemblyFormat = [{
    $lhs (`transposed` $transpose_lhs^)? `,` $rhs (`transposed` $transpose_rhs^)? (`finish` $kernel^)?
    `(` $inputs `)` `->` `(` $outputs `)` (`extra` $extra^ `(` $extra_inputs `)` `->` $extra_output)?
    (`scratch` $scratch^)? attr-dict `:` type(operands)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Where the product is.
    ::mlir::Value getProductBuffer() { return getOutputs()[getProduct()]; }
  }];
}

def MatmulEpilogueGridOp : Exec_LaunchOp<"matmul_epilogue_grid", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "`ingot_matmul_epilogue_grid`: a product that a device's library or kernel finishes";
  let description = [{
    As `exec.matmul_epilogue`, with the kernels as launches. With `library`, the call may be one of the library's, which does what the
    kernels do. Where they compute an extra output in two launches, the first writes `partials`, which are in front of it in the table, and the second reads them.
  }];
  let arguments = (ins Exec_Buffer:$lhs, Exec_Buffer:$rhs, OptionalAttr<Exec_GridAttr>:$kernel,
                       Variadic<Exec_Buffer>:$inputs, Variadic<Exec_Buffer>:$outputs,
                       OptionalAttr<TypedArrayAttrBase<Exec_GridAttr, "launches">>:$extra,
                       Variadic<Exec_Buffer>:$extra_inputs, Variadic<Exec_Buffer>:$partials,
                       Optional<Exec_Buffer>:$extra_output,
                       I64Attr:$product, Optional<Exec_Scratch>:$scratch,
                       UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs, UnitAttr:$on_tiles, I64Attr:$flops,
                       Exec_LibraryEpilogue:$library);
  let assemblyFormat = [{
    $lhs (`transposed` $transpose_lhs^)? `,` $rhs (`transposed` $transpose_rhs^)? (`finish` $kernel^)?
    `(` $inputs `)` `->` `(` $outputs `)` (`extra` $extra^ `(` $extra_inputs `)` `->` $extra_output `partials` `(` $partials `)`)?
    (`scratch` $scratch^)? attr-dict `:` type(operands)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Where the product is.
    ::mlir::Value getProductBuffer() { return getOutputs()[getProduct()]; }
  }];
}

class Exec_ConvOp<string mnemonic, string text> : Exec_LibraryOp<mnemonic> {
  let summary = text;
  let description = "Buffers in the order of the ABI entry; attributes as in `ingot.conv`.";
  let arguments = (ins Exec_Buffer:$lhs, Exec_Buffer:$rhs, Exec_Buffer:$result,
                       Optional<Exec_Scratch>:$scratch, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high,
                       I64Attr:$groups, UnitAttr:$channels_last, UnitAttr:$filter_channels_last,
                       UnitAttr:$on_tiles);
  let assemblyFormat = [{
    $lhs `,` $rhs `->` $result (`scratch` $scratch^ `:` type($scratch) `,`)?
    attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
}

def ConvOp : Exec_ConvOp<"conv", "`ingot_conv`: input, filter -> output">;
def ConvInputGradOp : Exec_ConvOp<"conv_input_grad",
    "`ingot_conv_input_grad`: output_grad, filter -> input_grad">;
def ConvFilterGradOp : Exec_ConvOp<"conv_filter_grad",
    "`ingot_conv_filter_grad`: output_grad, input -> filter_grad">;

def AttentionOp : Exec_LibraryOp<"attention", [AttrSizedOperandSegments]> {
  let summary = "`ingot_attention`: query, key, value, bias, mask, lengths, seed, step -> result, lse";
  let description = "As `ingot.attention`.";
  let arguments = (ins Exec_Buffer:$query, Exec_Buffer:$key, Exec_Buffer:$value,
                       Optional<Exec_Buffer>:$bias, Optional<Exec_Buffer>:$mask,
                       Optional<Exec_Buffer>:$lengths, Optional<Exec_Buffer>:$seed, Optional<Exec_Buffer>:$step,
                       Exec_Buffer:$result, Exec_Buffer:$lse, Optional<Exec_Scratch>:$scratch,
                       F64Attr:$scale, I64Attr:$left, I64Attr:$right,
                       DefaultValuedAttr<F64Attr, "0.0">:$ratio, DefaultValuedAttr<I32Attr, "0">:$stream,
                       UnitAttr:$on_tiles, I64Attr:$flops);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`bias` $bias^)? (`mask` $mask^)?
    (`lengths` $lengths^)? (`dropout` $seed^ `,` $step)? `->` $result `,` $lse
    (`scratch` $scratch^)? attr-dict `:` type(operands)
  }];
}

def AttentionGradOp : Exec_LibraryOp<"attention_grad", [AttrSizedOperandSegments]> {
  let summary = [{
    `ingot_attention_grad`: query, key, value, output, lse, cotangent, bias, mask, lengths, seed, step ->
    query_grad, key_grad, value_grad
  }];
  let description = "As `ingot.attention_grad`.";
  let arguments = (ins Exec_Buffer:$query, Exec_Buffer:$key, Exec_Buffer:$value,
                       Exec_Buffer:$output, Exec_Buffer:$lse, Exec_Buffer:$cotangent,
                       Optional<Exec_Buffer>:$bias, Optional<Exec_Buffer>:$mask,
                       Optional<Exec_Buffer>:$lengths, Optional<Exec_Buffer>:$seed, Optional<Exec_Buffer>:$step,
                       Exec_Buffer:$query_grad, Exec_Buffer:$key_grad, Exec_Buffer:$value_grad,
                       Optional<Exec_Scratch>:$scratch,
                       F64Attr:$scale, I64Attr:$left, I64Attr:$right,
                       DefaultValuedAttr<F64Attr, "0.0">:$ratio, DefaultValuedAttr<I32Attr, "0">:$stream,
                       UnitAttr:$on_tiles, I64Attr:$flops);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $output `,` $lse `,` $cotangent (`bias` $bias^)? (`mask` $mask^)?
    (`lengths` $lengths^)? (`dropout` $seed^ `,` $step)? `->`
    $query_grad `,` $key_grad `,` $value_grad (`scratch` $scratch^)? attr-dict `:` type(operands)
  }];
}

class Exec_BucketOp<string mnemonic> : Exec_CallOp<mnemonic> {
  let arguments = (ins Exec_Buffer:$bucket, I64Attr:$number, DefaultValuedAttr<I64Attr, "0">:$code,
                       DefaultValuedAttr<I64Attr, "0">:$kept);
  let assemblyFormat = "$number $bucket attr-dict `:` type($bucket)";
}

def AllReduceStartOp : Exec_BucketOp<"all_reduce_start"> {
  let summary = "`ingot_all_reduce_start`: nothing else touches the bucket until the wait";
}

def AllReduceWaitOp : Exec_BucketOp<"all_reduce_wait"> {
  let summary = "`ingot_all_reduce_wait`: the bucket holds sums over ranks";
}

def ReduceScatterStartOp : Exec_BucketOp<"reduce_scatter_start"> {
  let summary = "`ingot_reduce_scatter_start`: nothing else touches the bucket until the wait";
}

def ReduceScatterWaitOp : Exec_BucketOp<"reduce_scatter_wait"> {
  let summary = "`ingot_reduce_scatter_wait`: the rank's shard of the bucket holds sums over ranks";
}

def AllGatherStartOp : Exec_BucketOp<"all_gather_start"> {
  let summary = "`ingot_all_gather_start`: nothing else touches the bucket until the wait";
  let description = [{
    `deferred` says that the wait is in a later run of this or another function.
  }];
  let arguments = (ins Exec_Buffer:$bucket, I64Attr:$number, DefaultValuedAttr<I64Attr, "0">:$code,
                       DefaultValuedAttr<I64Attr, "0">:$kept, UnitAttr:$deferred);
}

def AllGatherWaitOp : Exec_BucketOp<"all_gather_wait"> {
  let summary = "`ingot_all_gather_wait`: the bucket holds the shards of all ranks";
}

def GatherMessagesStartOp : Exec_CallOp<"gather_messages_start"> {
  let summary = "`ingot_gather_messages_start`: nothing else touches either until the wait";
  let description = [{
    On devices, a bucket with a code is exchanged in these steps: kernels make a message of it, all ranks get the messages of all,
    and a kernel adds them up. `messages` has a row for each rank, more than there can be.
  }];
  let arguments = (ins Exec_Buffer:$message, Exec_Buffer:$messages, I64Attr:$number);
  let assemblyFormat = "$number $message `->` $messages attr-dict `:` type($message) `->` type($messages)";
}

def GatherMessagesWaitOp : Exec_CallOp<"gather_messages_wait"> {
  let summary = "`ingot_gather_messages_wait`: the messages of all ranks are there";
  let arguments = (ins Exec_Buffer:$messages, I64Attr:$number);
  let assemblyFormat = "$number $messages attr-dict `:` type($messages)";
}

def CompressOp : Exec_CallOp<"compress"> {
  let summary = "`ingot_compress`: what a message of that code can say of the input";
  let arguments = (ins Exec_Buffer:$input, Exec_Buffer:$result, I64Attr:$code, I64Attr:$kept);
  let assemblyFormat = "$input `->` $result attr-dict `:` type($input) `->` type($result)";
}

def ShardSquareSumOp : Exec_CallOp<"shard_square_sum"> {
  let summary = "`ingot_shard_square_sum`: of the tensor's elements in the rank's shard";
  let arguments = (ins Exec_Buffer:$input, Exec_Buffer:$result, I64Attr:$first, I64Attr:$of);
  let assemblyFormat = "$input `at` $first `of` $of `->` $result attr-dict `:` type($input) `->` type($result)";
}

def CopyOp : Exec_CallOp<"copy"> {
  let summary = "`ingot_copy`: a tensor's bytes to another place";
  let description = "With `shard`, as `exec.launch` has it, only elements in the rank's shard.";
  let arguments = (ins Exec_Buffer:$from, Exec_Buffer:$to, OptionalAttr<DenseI64ArrayAttr>:$shard);
  let assemblyFormat = "$from `->` $to attr-dict `:` type($from) `->` type($to)";
  let hasVerifier = 1;
}

#endif // INGOT_DIALECTS_EXEC_EXEC_TD
