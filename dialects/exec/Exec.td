// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The `exec` dialect: a step as it is executed. Memory is placed, kernels are symbols,
// and each operation with an effect is a call of one entry point of the C ABI
// (runtime/abi/Abi.td).
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
    A placed module has an `exec.step` for each function, kernels, and these attributes:

    | attribute | on | meaning |
    |---|---|---|
    | `exec.state_bytes` | module | size of the state block |
    | `exec.mapped_bytes` | module | size of the range of mapped states behind it (`runtime/abi/Mapping.h`) |
    | `exec.weights_file` | module | the initial values are in a file of their own, which trainers can map |
    | `exec.home` | `ingot.state` | where its value is, if not in the state block: `mapped` or `file` (docs/manifest.md) |
    | `exec.messages` | module | `#exec.message` of each block of payloads from all ranks |
    | `exec.offset` | `ingot.state` | the offset of the state from the start of the state block |
    | `exec.bound` | calls | lower bound of the time in seconds by the cost model |
    | `exec.part` | calls of a training step | what the call is for: `forward`, `backward` or `optimizer` |
    | `exec.gradients` | calls | `#exec.value` of each gradient that is complete in the arena after the call, by its parameter |
    | `exec.next_module` | module | the symbol of the same steps for a processor with fewer features |
    | `exec.manifest` | module | the manifest, JSON (docs/manifest.md) |
    | `exec.device_code`, `exec.device_text` | module | GPU kernels as machine code and as text |
    | `exec.weight_bytes` | module | size of the initial values, which the link adds |
    | `exec.export_bytes` | module | size of the export's literal bytes, which the link adds |
  }];
  let hasOperationAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def Exec_Buffer : StaticShapeMemRefOf<[AnyType]>;

class Exec_Op<string mnemonic, list<Trait> traits = []>
    : Op<Exec_Dialect, mnemonic, traits>;

def AbiCall : OpInterface<"AbiCall"> {
  let cppNamespace = "::ingot::exec";
  let description = "An operation that calls one entry point of the C ABI.";
  let methods = [
    InterfaceMethod<"Returns the entry point.", "const ::ingot::abi::Entry &", "getAbiEntry", (ins)>,
    InterfaceMethod<[{
      Returns the descriptor. `index` is the operation's position among the function's kernels in the manifest.
    }], "::ingot::exec::Descriptor", "getDescriptor", (ins "int64_t":$index)>,
    InterfaceMethod<"Returns the floating-point operations of one call.", "int64_t",
      "getCallFlops", (ins)>,
    InterfaceMethod<"Returns the bytes that one call reads and writes.", "int64_t",
      "getCallBytes", (ins)>,
    InterfaceMethod<[{
      Returns the buffers that the entry point takes, in its order; a null value is a null pointer.
    }], "::llvm::SmallVector<::mlir::Value>", "getBuffers", (ins),
      "", "return ::llvm::SmallVector<::mlir::Value>();">,
    InterfaceMethod<"Returns the buffers that the entry point takes as one array, after the others.",
      "::llvm::SmallVector<::mlir::Value>", "getTable", (ins),
      "", "return ::llvm::SmallVector<::mlir::Value>();">,
    InterfaceMethod<[{
      Returns whether the call writes all elements of a buffer on this rank, as its value: false if only the rank's
      shard is computed, and for scratch memory of a kernel.
    }], "bool", "writesWhole", (ins "::mlir::Value":$buffer), "", "return true;">,
  ];
}

def Exec_Space : I32EnumAttr<"Space", "block of memory", [
    I32EnumAttrCase<"Arena", 0, "arena">, I32EnumAttrCase<"State", 1, "state">,
    I32EnumAttrCase<"Shard", 2, "shard">]> {
  let cppNamespace = "::ingot::exec";
  let genSpecializedAttr = 0;
}
def Exec_SpaceAttr : EnumAttr<Exec_Dialect, Exec_Space, "space">;

/// Attributes of the dialect `ingot`.
class Exec_IngotAttr<string cppClass> : Attr<CPred<"::llvm::isa<" # cppClass # ">($_self)">, cppClass> {
  let storageType = cppClass;
  let returnType = cppClass;
  let convertFromStorage = "$_self";
}
def Exec_ShardAttr : Exec_IngotAttr<"::ingot::ShardAttr">;
def Exec_LibraryEpilogueAttr : Exec_IngotAttr<"::ingot::LibraryEpilogueAttr">;

def Exec_DescAttr : AttrDef<Exec_Dialect, "Desc"> {
  let mnemonic = "desc";
  let summary = "a descriptor of the C ABI, field by field";
  let description = [{
    The name of the struct, followed by the fields that are not 0. Element types and other enums are spelled by name,
    and arrays end with their last element that is not 0. The size of the scratch buffer and the index of the call are
    not included.

    ```mlir
    #exec.desc<ingot_matmul_desc <batch = 1, m = 512, n = 64, k = 128, a_type = bf16, b_type = bf16>>
    ```
  }];
  let parameters = (ins "const ::ingot::abi::Struct *":$type, StringRefParameter<"the struct's bytes">:$bytes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [AttrBuilder<(ins "const ::ingot::CallDescriptor &":$desc)>];
  let extraClassDeclaration = [{
    ::ingot::CallDescriptor getDescriptor() const {
      return ::ingot::CallDescriptor(*getType(), ::llvm::ArrayRef<char>(getBytes().data(), getBytes().size()));
    }
    /// Returns a field by its name; 0 if the struct has none.
    int64_t getInteger(::llvm::StringRef name) const { return getDescriptor().getInteger(name); }
    /// Returns the descriptor with another value of the field.
    DescAttr with(::llvm::StringRef name, int64_t value) const;
  }];
}

def BufferOp : Exec_Op<"buffer", [Pure]> {
  let summary = "a tensor in memory: at `offset` in the arena or the state block";
  let description = [{
    A `shard` is memory whose size depends on the number of ranks: it contains only the rank's elements, or payloads
    of all ranks. `offset` in the table of `ingot_shards` has the address that the tensor's first element has or would
    have.

    Within `exec.repeat`, `strides` has for each of the loops around the buffer, the outermost first, the bytes from
    its place in one iteration to that in the next; those that are left out are 0.
  }];
  let arguments = (ins Exec_SpaceAttr:$space, I64Attr:$offset,
                       OptionalAttr<DenseI64ArrayAttr>:$strides);
  let results = (outs Exec_Buffer:$result);
  let assemblyFormat = "$space $offset (`by` $strides^)? attr-dict `:` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::ingot::exec::Space":$space, "int64_t":$offset), [{
      build($_builder, $_state, type, space, offset, ::mlir::DenseI64ArrayAttr());
    }]>];
  let hasVerifier = 1;
}

def Exec_ValueAttr : AttrDef<Exec_Dialect, "Value"> {
  let mnemonic = "value";
  let summary = "an input or output of a step and its offset in the arena";
  let description = [{
    `classes` bounds the labels of an input, 0 if there is no bound.

    ```mlir
    #exec.value<name = "x", kind = "data", type = tensor<128x784xf32>, offset = 0>
    ```
  }];
  let parameters = (ins StringRefParameter<>:$name, StringRefParameter<>:$kind, "::mlir::RankedTensorType":$type,
                        "int64_t":$offset, DefaultValuedParameter<"int64_t", "0">:$classes);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Exec_LiveAttr : AttrDef<Exec_Dialect, "Live"> {
  let mnemonic = "live";
  let summary = "live memory at the peak of a step: bytes of one purpose, and the first nodes that they belong to";
  let parameters = (ins StringRefParameter<>:$kind, "int64_t":$bytes, "::mlir::ArrayAttr":$nodes);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Exec_IntervalAttr : AttrDef<Exec_Dialect, "Interval"> {
  let mnemonic = "interval";
  let summary = "an interval of the arena, its purpose, and the first and last call that use it";
  let description = "No call uses what an operation without elements has: then `last` is the one before `first`.";
  let parameters = (ins StringRefParameter<>:$kind, "int64_t":$offset, "int64_t":$bytes, "int64_t":$first,
                        "int64_t":$last);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Exec_MemoryAttr : AttrDef<Exec_Dialect, "Memory"> {
  let mnemonic = "memory";
  let summary = "the parts of a step's planned peak, in bytes";
  let parameters = (ins "int64_t":$peak, "int64_t":$weights, "int64_t":$optimizer, "int64_t":$gradient,
                        "int64_t":$activation, "int64_t":$workspace, "int64_t":$communication);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Exec_MessageAttr : AttrDef<Exec_Dialect, "Message"> {
  let mnemonic = "message";
  let summary = "a block of payloads from all ranks: its offset in the table of addresses, and the bytes per rank";
  let parameters = (ins "int64_t":$offset, "int64_t":$rank_bytes);
  let assemblyFormat = "`<` struct(params) `>`";
}

def StepOp : Exec_Op<"step", [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "a function of the module as it is executed";
  let description = [{
    The operations are executed in order. `arena_bytes` is the size of the arena; `staging_bytes` is the size of the
    blocks through which inputs are copied to a GPU, which are part of the workspace. `live` lists the contents of the
    arena at the peak, `intervals` all intervals of the arena. Calls within `exec.repeat` are executed several times,
    and count once where calls are numbered.

    ```mlir
    exec.step @forward attributes {arena_bytes = 128 : i64, inputs = [#exec.value<name = "x", ...>], outputs = [...]} {
      %x = exec.buffer arena 0 : memref<8xf32>
      %y = exec.buffer arena 64 : memref<8xf32>
      exec.launch @kernel_0(%x) -> (%y) {flops = 8 : i64} : memref<8xf32> -> memref<8xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$arena_bytes,
                       DefaultValuedAttr<I64Attr, "0">:$staging_bytes,
                       DefaultValuedAttr<TypedArrayAttrBase<Exec_ValueAttr, "values">, "{}">:$inputs,
                       DefaultValuedAttr<TypedArrayAttrBase<Exec_ValueAttr, "values">, "{}">:$outputs,
                       OptionalAttr<Exec_MemoryAttr>:$memory,
                       DefaultValuedAttr<TypedArrayAttrBase<Exec_LiveAttr, "live values">, "{}">:$live,
                       DefaultValuedAttr<TypedArrayAttrBase<Exec_IntervalAttr, "intervals">, "{}">:$intervals);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "int64_t":$arena_bytes)>];
}

def RepeatOp : Exec_Op<"repeat", [SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "executes calls a known number of times";
  let description = [{
    The calls of the body are executed in order, `count` times. Its buffers move by their strides from one iteration
    to the next.

    ```mlir
    exec.repeat 16 {
      %x = exec.buffer arena 0 by [32] : memref<8xf32>
      %sum = exec.buffer arena 512 : memref<8xf32>
      exec.launch @kernel_0(%x, %sum) -> (%sum) {flops = 8 : i64} : memref<8xf32>, memref<8xf32> -> memref<8xf32>
    }
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntPositive]>:$count);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$count attr-dict-with-keyword $body";
  let builders = [OpBuilder<(ins "int64_t":$count)>];
}

def KernelOp : Exec_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlock]> {
  let summary = "a generated kernel, as the `ingot.fusion` it came from";
  let description = [{
    The body is that of the fusion: it takes tensors, and `ingot.yield` returns the results. A launch passes the
    buffers of the inputs, then those of the results. `aliases` has, for each input, the result whose memory it shares
    (such an input is read only at the element that is being written), or -1. `kind` is the kind of the fusion.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$kind, DenseI64ArrayAttr:$aliases);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$kind $sym_name `aliases` `=` $aliases attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Exec_ScratchAttr : AttrDef<Exec_Dialect, "Scratch"> {
  let mnemonic = "scratch";
  let summary = "scratch memory at `offset` in the arena, for the kernels into which code generation lowers a call";
  let parameters = (ins "int64_t":$offset, "int64_t":$bytes);
  let assemblyFormat = "`<` $bytes `at` $offset `>`";
}

def CallOp : Exec_Op<"call", [
    DeclareOpInterfaceMethods<AbiCall, ["getBuffers", "writesWhole"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "calls an entry point of the C ABI";
  let description = [{
    Names the entry point, its buffers by their names, and its descriptor, as `#exec.desc` prints it. The verifier
    checks all three against the ABI's table (docs/abi.md): every buffer that may not be null is present, and has the
    number of elements that follows from the descriptor. `bytes` is what the call moves, where that is not all of its
    buffers. `scratch` is for a target that replaces the call by kernels.

    ```mlir
    exec.call @ingot_matmul(a = %x, b = %w, c = %y) <batch = 1, m = 8, n = 4, k = 16> {flops = 1024 : i64}
      : memref<8x16xf32>, memref<16x4xf32>, memref<8x4xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$entry, Variadic<Exec_Buffer>:$args,
                       DenseI32ArrayAttr:$places, Exec_DescAttr:$desc,
                       DefaultValuedAttr<I64Attr, "0">:$flops, OptionalAttr<I64Attr>:$bytes,
                       OptionalAttr<Exec_ScratchAttr>:$scratch);
  let assemblyFormat = [{
    $entry `(` custom<NamedBuffers>(ref($entry), $args, $places) `)` custom<CallFields>(ref($entry), $desc)
    attr-dict (`:` type($args)^)?
  }];
  let builders = [OpBuilder<(ins "::llvm::StringRef":$entry, "::llvm::ArrayRef<::mlir::Value>":$buffers,
                                 "const ::ingot::CallDescriptor &":$descriptor, CArg<"int64_t", "0">:$flops,
                                 CArg<"::mlir::IntegerAttr", "{}">:$bytes)>];
  let hasVerifier = 1;
}

def Exec_GridAttr : AttrDef<Exec_Dialect, "Grid"> {
  let mnemonic = "grid";
  let summary = "a GPU kernel with `grid` blocks of `block` threads, and bytes of shared memory per block";
  let parameters = (ins "::mlir::SymbolRefAttr":$kernel, "int64_t":$grid, "int64_t":$block, "int64_t":$shared);
  let assemblyFormat = "`<` $kernel `blocks` $grid `of` $block `shared` $shared `>`";
}

/// A call that passes its buffers as one array.
class Exec_LaunchOp<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<AbiCall, ["getTable", "writesWhole"]>,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>])>;

def LaunchOp : Exec_LaunchOp<"launch", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel";
  let description = [{
    Becomes `ingot_launch`. Code generation, which knows the loops of the kernel, sets `extent`, the number of
    independent iterations, and `grain`, the minimum number of iterations per thread. `bytes` is what the kernel
    moves, where that is less than all of its buffers. With `shard`, only iterations in the rank's shard of that
    bucket are executed. `scratch` is for a target that lowers the kernel to several launches, such as partial sums
    and their sum.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Exec_Buffer>:$inputs,
                       Variadic<Exec_Buffer>:$outputs, I64Attr:$flops,
                       OptionalAttr<I64Attr>:$bytes,
                       DefaultValuedAttr<I64Attr, "0">:$extent, DefaultValuedAttr<I64Attr, "0">:$grain,
                       OptionalAttr<Exec_ShardAttr>:$shard, OptionalAttr<Exec_ScratchAttr>:$scratch);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` `->` `(` $outputs `)` attr-dict (`:` type($inputs)^)? `->` type($outputs)
  }];
  let hasVerifier = 1;
}

def LaunchGridOp : Exec_LaunchOp<"launch_grid", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a GPU kernel";
  let description = [{
    Becomes `ingot_launch_grid`: `grid` blocks of `block` threads each. The kernel is a `gpu.func` that takes the
    inputs, then the outputs, and has `shared` bytes of shared memory per block. An `exec.launch` becomes one of these
    or, where sums are split over the GPU, two. With `extent`, the kernel additionally takes a range of iterations, as
    two i64: all `extent` iterations or, with `shard`, those in the rank's shard. An extent of -1 is the number of
    ranks. With `any_grid`, the result does not depend on the number of blocks.
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Variadic<Exec_Buffer>:$inputs,
                       Variadic<Exec_Buffer>:$outputs, I64Attr:$flops, OptionalAttr<I64Attr>:$bytes,
                       I64Attr:$grid, I64Attr:$block,
                       DefaultValuedAttr<I64Attr, "0">:$shared, UnitAttr:$any_grid,
                       DefaultValuedAttr<I64Attr, "0">:$extent,
                       OptionalAttr<Exec_ShardAttr>:$shard);
  let assemblyFormat = [{
    $kernel `blocks` $grid `of` $block `(` $inputs `)` `->` `(` $outputs `)` attr-dict
    (`:` type($inputs)^)? `->` type($outputs)
  }];
  let hasVerifier = 1;
}

def Exec_Scratch : MemRefRankOf<[I8], [1]>;

class Exec_MatmulOp<string mnemonic> : Exec_Op<mnemonic, [
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<AbiCall, ["getBuffers", "getTable", "writesWhole"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the buffer that contains the matmul's result.
    ::mlir::Value getProductBuffer() { return getOutputs()[getProduct()]; }
  }];
}

def MatmulEpilogueOp : Exec_MatmulOp<"matmul_epilogue"> {
  let summary = "`ingot_matmul_epilogue`: a matmul with a kernel as its epilogue";
  let description = [{
    The call writes lhs x rhs to the output number `product`. As parts of it are complete, the kernel, of kind
    `epilogue`, computes the outputs from them: it takes the matmul's result, then the inputs. Without a kernel, the
    matmul's result is the output. `desc` describes the matmul. Operands of 8-bit floats have `scales`, those of lhs
    first.

    `library` is for GPUs (`exec.matmul_epilogue_grid`), and so is the kernel `extra`, which computes the extra output
    from operands of the call and from outputs, as `extra_inputs`. The table consists of the matmul's result, the
    inputs, the outputs, the extra inputs and the extra output: the numbers of `library` are positions in it.
  }];
  let arguments = (ins Exec_Buffer:$lhs, Exec_Buffer:$rhs, Variadic<Exec_Buffer>:$scales,
                       OptionalAttr<FlatSymbolRefAttr>:$kernel,
                       Variadic<Exec_Buffer>:$inputs, Variadic<Exec_Buffer>:$outputs,
                       OptionalAttr<FlatSymbolRefAttr>:$extra, Variadic<Exec_Buffer>:$extra_inputs,
                       Optional<Exec_Buffer>:$extra_output,
                       I64Attr:$product, Optional<Exec_Scratch>:$scratch,
                       Exec_DescAttr:$desc, I64Attr:$flops, OptionalAttr<Exec_LibraryEpilogueAttr>:$library);
  let assemblyFormat = [{
    $lhs `,` $rhs (`scales` `(` $scales^ `)`)? custom<MatmulFields>($desc) (`finish` $kernel^)?
    `(` $inputs `)` `->` `(` $outputs `)` (`extra` $extra^ `(` $extra_inputs `)` `->` $extra_output)?
    (`scratch` $scratch^)? attr-dict `:` type(operands)
  }];
}

def MatmulEpilogueGridOp : Exec_MatmulOp<"matmul_epilogue_grid"> {
  let summary = "`ingot_matmul_epilogue_grid`: a matmul on a GPU with an epilogue of its library, or a kernel";
  let description = [{
    The op is like `exec.matmul_epilogue`, with the kernels as launches. With `library`, the runtime may instead call
    the library's epilogue, which computes the same. Where an extra output is computed in two launches, the first
    writes `partials`, which are before it in the table, and the second reads them.
  }];
  let arguments = (ins Exec_Buffer:$lhs, Exec_Buffer:$rhs, Variadic<Exec_Buffer>:$scales,
                       OptionalAttr<Exec_GridAttr>:$kernel,
                       Variadic<Exec_Buffer>:$inputs, Variadic<Exec_Buffer>:$outputs,
                       OptionalAttr<TypedArrayAttrBase<Exec_GridAttr, "launches">>:$extra,
                       Variadic<Exec_Buffer>:$extra_inputs, Variadic<Exec_Buffer>:$partials,
                       Optional<Exec_Buffer>:$extra_output,
                       I64Attr:$product, Optional<Exec_Scratch>:$scratch,
                       Exec_DescAttr:$desc, I64Attr:$flops, OptionalAttr<Exec_LibraryEpilogueAttr>:$library);
  let assemblyFormat = [{
    $lhs `,` $rhs (`scales` `(` $scales^ `)`)? custom<MatmulFields>($desc) (`finish` $kernel^)?
    `(` $inputs `)` `->` `(` $outputs `)` (`extra` $extra^ `(` $extra_inputs `)` `->` $extra_output
      `partials` `(` $partials `)`)?
    (`scratch` $scratch^)? attr-dict `:` type(operands)
  }];
}

def Exec_MatmulTileAttr : AttrDef<Exec_Dialect, "MatmulTile"> {
  let mnemonic = "matmul_tile";
  let summary = "the tile of a matmul's result that a block computes, and the part of the inner dimension in memory";
  let parameters = (ins "int64_t":$m, "int64_t":$n, "int64_t":$k);
  let assemblyFormat = "`<` $m `x` $n `x` $k `>`";
}

def MatmulGridOp : Exec_Op<"matmul_grid", [
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<AbiCall, ["getBuffers", "getTable"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "`ingot_matmul_grid`: a matmul and its epilogue as one GPU kernel";
  let description = [{
    The kernel is a `gpu.func` that takes two tensor maps, of lhs and rhs, then the inputs and the outputs of the
    epilogue. The product itself is in no buffer. `kernel` names the launch; a block has `dynamic_bytes` of shared
    memory besides what the kernel declares.
  }];
  let arguments = (ins Exec_Buffer:$lhs, Exec_Buffer:$rhs, Exec_GridAttr:$kernel,
                       Variadic<Exec_Buffer>:$inputs, Variadic<Exec_Buffer>:$outputs,
                       Exec_MatmulTileAttr:$tile, I64Attr:$dynamic_bytes, Exec_DescAttr:$desc, I64Attr:$flops);
  let assemblyFormat = [{
    $lhs `,` $rhs custom<MatmulFields>($desc) $kernel `tile` $tile `dynamic` $dynamic_bytes
    `(` $inputs `)` `->` `(` $outputs `)` attr-dict `:` type(operands)
  }];
  let hasVerifier = 1;
}

#endif // INGOT_DIALECTS_EXEC_EXEC_TD
