// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The `exec` dialect: a step as it runs. Memory is placed, kernels are symbols,
// and each operation with an effect is a call of one entry of the C ABI
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
    | `exec.messages` | module | `#exec.message` of each place of payloads from all ranks |
    | `exec.offset` | `ingot.state` | the state's place in the state block |
    | `exec.bound` | calls | seconds that the cost model expects at least |
    | `exec.manifest` | module | the manifest, JSON (docs/manifest.md) |
    | `exec.device_code`, `exec.device_text` | module | a device's kernels as machine code and as text |
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
  let description = "An operation that is a call of one entry of the C ABI.";
  let methods = [
    InterfaceMethod<"The entry.", "const ::ingot::abi::Entry &", "getAbiEntry", (ins)>,
    InterfaceMethod<[{
      The entry's descriptor. `index` is the operation's position among the function's kernels in the manifest.
    }], "::ingot::exec::Descriptor", "getDescriptor", (ins "int64_t":$index)>,
    InterfaceMethod<"Floating-point operations of one call.", "int64_t",
      "getCallFlops", (ins)>,
    InterfaceMethod<"Bytes that one call reads and writes.", "int64_t",
      "getCallBytes", (ins)>,
    InterfaceMethod<[{
      The buffers that the entry takes, in its order; a null value is a null pointer.
    }], "::llvm::SmallVector<::mlir::Value>", "getBuffers", (ins),
      "", "return ::llvm::SmallVector<::mlir::Value>();">,
    InterfaceMethod<"Buffers that the entry takes as one array, behind the others.",
      "::llvm::SmallVector<::mlir::Value>", "getTable", (ins),
      "", "return ::llvm::SmallVector<::mlir::Value>();">,
    InterfaceMethod<[{
      Whether the rank has all of a buffer that the call writes, as its value: not of one that only its shard of is
      computed, nor of what a kernel works in.
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
    The struct's name, then the fields that are not 0. Element types and other enums are spelled by name, arrays end
    with their last element that is not 0. The size of the scratch buffer and the call's index are no part of it.

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
    /// A field by its name; 0 if the struct has none.
    int64_t getInteger(::llvm::StringRef name) const { return getDescriptor().getInteger(name); }
    /// The same with another value of the field.
    DescAttr with(::llvm::StringRef name, int64_t value) const;
  }];
}

def BufferOp : Exec_Op<"buffer", [Pure]> {
  let summary = "a tensor's place: bytes from `offset` on in the arena or the state block";
  let description = [{
    A `shard` is memory that depends on how many ranks there are: of the rank's elements alone, or of messages of all
    ranks. At
    `offset` in the table of `ingot_shards` is the address that the tensor's first element has or would have.
  }];
  let arguments = (ins Exec_SpaceAttr:$space, I64Attr:$offset);
  let results = (outs Exec_Buffer:$result);
  let assemblyFormat = "$space $offset attr-dict `:` type($result)";
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
  let summary = "what a step holds at its peak: bytes of one kind, and the nodes that they are of";
  let parameters = (ins StringRefParameter<>:$kind, "int64_t":$bytes, "::mlir::ArrayAttr":$nodes);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Exec_IntervalAttr : AttrDef<Exec_Dialect, "Interval"> {
  let mnemonic = "interval";
  let summary = "a place in the arena, what it is for, and the first and last call that use it";
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
  let summary = "a place of payloads from all ranks: its offset in the table of addresses, and bytes of a rank";
  let parameters = (ins "int64_t":$offset, "int64_t":$rank_bytes);
  let assemblyFormat = "`<` struct(params) `>`";
}

def StepOp : Exec_Op<"step", [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "a function of the module as it runs";
  let description = [{
    Its operations run in order. `arena_bytes` is the size of the arena that it needs; `staging_bytes` that of the
    blocks that its inputs come through on a device, which are part of the workspace. `live` lists what the arena
    holds at the peak, `intervals` every place in it.

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

def Exec_ScratchAttr : AttrDef<Exec_Dialect, "Scratch"> {
  let mnemonic = "scratch";
  let summary = "bytes from `offset` on in the arena, for the kernels that code generation makes of a call";
  let parameters = (ins "int64_t":$offset, "int64_t":$bytes);
  let assemblyFormat = "`<` $bytes `at` $offset `>`";
}

def CallOp : Exec_Op<"call", [
    DeclareOpInterfaceMethods<AbiCall, ["getBuffers", "writesWhole"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "calls an entry of the C ABI";
  let description = [{
    The entry, its buffers by their names, and its descriptor as `#exec.desc` has it. The verifier holds all three
    against the ABI's table (docs/abi.md): every buffer that may not be null is there, and has the elements that the
    descriptor says. `bytes` are what the call moves, where that is not all of its buffers. `scratch` is for a target
    that replaces the call by kernels of its own.

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
    attr-dict `:` type($args)
  }];
  let builders = [OpBuilder<(ins "::llvm::StringRef":$entry, "::llvm::ArrayRef<::mlir::Value>":$buffers,
                                 "const ::ingot::CallDescriptor &":$descriptor, CArg<"int64_t", "0">:$flops,
                                 CArg<"::mlir::IntegerAttr", "{}">:$bytes)>];
  let hasVerifier = 1;
}

def Exec_GridAttr : AttrDef<Exec_Dialect, "Grid"> {
  let mnemonic = "grid";
  let summary = "a device kernel with `grid` blocks of `block` threads, and bytes of memory for each block";
  let parameters = (ins "::mlir::SymbolRefAttr":$kernel, "int64_t":$grid, "int64_t":$block, "int64_t":$shared);
  let assemblyFormat = "`<` $kernel `blocks` $grid `of` $block `shared` $shared `>`";
}

/// A call that takes its buffers as one array.
class Exec_LaunchOp<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<AbiCall, ["getTable", "writesWhole"]>,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>])>;

def LaunchOp : Exec_LaunchOp<"launch", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel";
  let description = [{
    Becomes `ingot_launch`. `extent` independent iterations, at least `grain` a thread, are set by code
    generation, which knows the kernel's loops. `bytes` are what it moves, where that is less than all of its
    buffers. With `shard`, only iterations in the rank's shard of that bucket run. `scratch` is for a target that makes
    several launches of it, such as partial sums and their sum.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Exec_Buffer>:$inputs,
                       Variadic<Exec_Buffer>:$outputs, I64Attr:$flops,
                       OptionalAttr<I64Attr>:$bytes,
                       DefaultValuedAttr<I64Attr, "0">:$extent, DefaultValuedAttr<I64Attr, "0">:$grain,
                       OptionalAttr<Exec_ShardAttr>:$shard, OptionalAttr<Exec_ScratchAttr>:$scratch);
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
    range of iterations after them, as two i64: all of the extent, or, with `shard`, those in the rank's shard. An
    extent of
    -1 is the number of ranks. With `any_grid`, any number of blocks computes the same.
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Variadic<Exec_Buffer>:$inputs,
                       Variadic<Exec_Buffer>:$outputs, I64Attr:$flops, OptionalAttr<I64Attr>:$bytes,
                       I64Attr:$grid, I64Attr:$block,
                       DefaultValuedAttr<I64Attr, "0">:$shared, UnitAttr:$any_grid,
                       DefaultValuedAttr<I64Attr, "0">:$extent,
                       OptionalAttr<Exec_ShardAttr>:$shard);
  let assemblyFormat = [{
    $kernel `blocks` $grid `of` $block `(` $inputs `)` `->` `(` $outputs `)` attr-dict
    `:` type($inputs) `->` type($outputs)
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
    /// Where the product is.
    ::mlir::Value getProductBuffer() { return getOutputs()[getProduct()]; }
  }];
}

def MatmulEpilogueOp : Exec_MatmulOp<"matmul_epilogue"> {
  let summary = "`ingot_matmul_epilogue`: a matmul with a kernel as its epilogue";
  let description = [{
    The call leaves lhs x rhs in the output number `product`. As parts of it are complete, the kernel, of
    kind `epilogue`, turns them into the outputs: it takes the product, then the inputs. Without one the product is
    the output.
    `desc` describes the matmul.

    `library` is for devices (`exec.matmul_epilogue_grid`), and so is the kernel `extra`, which then computes the
    extra output. It
    reads operands of the call and outputs, as `extra_inputs`. The table has the product, the inputs, the outputs, the
    extra inputs and the extra output:
    the numbers of `library` are places in it.
  }];
  let arguments = (ins Exec_Buffer:$lhs, Exec_Buffer:$rhs, OptionalAttr<FlatSymbolRefAttr>:$kernel,
                       Variadic<Exec_Buffer>:$inputs, Variadic<Exec_Buffer>:$outputs,
                       OptionalAttr<FlatSymbolRefAttr>:$extra, Variadic<Exec_Buffer>:$extra_inputs,
                       Optional<Exec_Buffer>:$extra_output,
                       I64Attr:$product, Optional<Exec_Scratch>:$scratch,
                       Exec_DescAttr:$desc, I64Attr:$flops, OptionalAttr<Exec_LibraryEpilogueAttr>:$library);
  let assemblyFormat = [{
    $lhs `,` $rhs custom<MatmulFields>($desc) (`finish` $kernel^)?
    `(` $inputs `)` `->` `(` $outputs `)` (`extra` $extra^ `(` $extra_inputs `)` `->` $extra_output)?
    (`scratch` $scratch^)? attr-dict `:` type(operands)
  }];
}

def MatmulEpilogueGridOp : Exec_MatmulOp<"matmul_epilogue_grid"> {
  let summary = "`ingot_matmul_epilogue_grid`: a matmul on a GPU with an epilogue of its library, or a kernel";
  let description = [{
    As `exec.matmul_epilogue`, with the kernels as launches. With `library`, the call may be one of the library's,
    which does what the
    kernels do. Where they compute an extra output in two launches, the first writes `partials`, which are in front of
    it in the table, and the second reads them.
  }];
  let arguments = (ins Exec_Buffer:$lhs, Exec_Buffer:$rhs, OptionalAttr<Exec_GridAttr>:$kernel,
                       Variadic<Exec_Buffer>:$inputs, Variadic<Exec_Buffer>:$outputs,
                       OptionalAttr<TypedArrayAttrBase<Exec_GridAttr, "launches">>:$extra,
                       Variadic<Exec_Buffer>:$extra_inputs, Variadic<Exec_Buffer>:$partials,
                       Optional<Exec_Buffer>:$extra_output,
                       I64Attr:$product, Optional<Exec_Scratch>:$scratch,
                       Exec_DescAttr:$desc, I64Attr:$flops, OptionalAttr<Exec_LibraryEpilogueAttr>:$library);
  let assemblyFormat = [{
    $lhs `,` $rhs custom<MatmulFields>($desc) (`finish` $kernel^)?
    `(` $inputs `)` `->` `(` $outputs `)` (`extra` $extra^ `(` $extra_inputs `)` `->` $extra_output
      `partials` `(` $partials `)`)?
    (`scratch` $scratch^)? attr-dict `:` type(operands)
  }];
}

#endif // INGOT_DIALECTS_EXEC_EXEC_TD
