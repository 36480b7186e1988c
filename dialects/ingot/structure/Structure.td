// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Structure: state, ordering, and the regions that become kernels.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_STRUCTURE_STRUCTURE_TD
#define INGOT_DIALECTS_INGOT_STRUCTURE_STRUCTURE_TD

include "dialects/ingot/ir/Dialect.td"
include "mlir/IR/RegionKindInterface.td"
include "runtime/abi/StateRoles.td"

def Ingot_Role : I32EnumAttr<"Role", "role of a state",
    !foreach(role, stateRoles, I32EnumAttrCase<role.symbol, role.value, role.name>)> {
  let cppNamespace = "::ingot";
  let genSpecializedAttr = 0;
}
def Ingot_RoleAttr : EnumAttr<Ingot_Dialect, Ingot_Role, "role">;

def Ingot_ShardAttr : AttrDef<Ingot_Dialect, "Shard"> {
  let mnemonic = "shard";
  let summary = "the offset of a tensor in a bucket of which each rank owns a shard";
  let description = [{
    The tensor's first element is number `first` of the bucket's `of` elements (docs/spec/collective.md).

    ```mlir
    #ingot.shard<first = 32, of = 96>
    ```
  }];
  let parameters = (ins "int64_t":$first, "int64_t":$of);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns whether a tensor with that number of elements is within the bucket.
    bool holds(int64_t elements) const { return getFirst() + elements <= getOf(); }
  }];
}

def Ingot_GatheredAttr : AttrDef<Ingot_Dialect, "Gathered"> {
  let mnemonic = "gathered";
  let summary = "the offset of a state in a bucket whose all-gather overlaps with the next step";
  let description = [{
    The fields are those of `#ingot.shard`, and `bucket` is the number of the bucket.

    ```mlir
    #ingot.gathered<bucket = 0, first = 32, of = 96>
    ```
  }];
  let parameters = (ins "int64_t":$bucket, "int64_t":$first, "int64_t":$of);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the offset without the number of the bucket.
    ShardAttr getShard() const { return ShardAttr::get(getContext(), getFirst(), getOf()); }
  }];
}

def Ingot_LossTermAttr : AttrDef<Ingot_Dialect, "LossTerm"> {
  let mnemonic = "loss_term";
  let summary = "a term of the loss, in the module attribute `ingot.loss_terms`";
  let description = [{
    The loss is the sum of its terms. A term is `factor` times the mean of the loss `kind`, as `--loss` names it, of the
    model's output `output` (empty: its first one) and the input `labels`. `class_axis` is the axis of the classes in
    the output, where labels are numbers of classes; `probabilities` says that labels are probabilities.

    With `whole_batch` the model's graph computes the term: `output` is one number for a whole batch, which has no
    labels, and of which an evaluation cannot leave out samples.

    ```mlir
    #ingot.loss_term<kind = "cross-entropy", labels = "labels", class_axis = 1>
    #ingot.loss_term<kind = "output", output = "loss", whole_batch = true>
    ```
  }];
  let parameters = (ins StringRefParameter<>:$kind, OptionalParameter<"::mlir::FloatAttr">:$factor,
                        StringRefParameter<"", "\"\"">:$output, StringRefParameter<"", "\"\"">:$labels,
                        OptionalParameter<"::std::optional<int64_t>">:$class_axis,
                        DefaultValuedParameter<"bool", "false">:$probabilities,
                        DefaultValuedParameter<"bool", "false">:$whole_batch);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the factor, 1 if there is none.
    double getFactorOrOne() const { return getFactor() ? getFactor().getValueAsDouble() : 1; }
  }];
}

def StateOp : Ingot_Op<"state", [Symbol]> {
  let summary = "a tensor that persists between steps";
  let description = [{
    Roles: `parameter` (trained), `frozen` (an initializer that is not trained), `running` (statistics that the
    forward pass updates), `moment` (of the optimizer), `step` (i64, the number of steps taken), `seed` (i64),
    `loss_scale` (scalars of dynamic loss scaling), `low_copy` (a compute copy: the value of the state `of`, rounded
    to this state's element type; never saved), `accumulator` (sums over the micro-batches of a step; between steps it
    has its initial value, so that it is never saved), `residual` (error feedback: the part of a gradient that a rank
    has not sent yet; each rank has its own), `basis` (the low-rank factor Q of PowerSGD), `coordinates` (of the
    rank along all axes of the mesh, which the runtime knows), `lower_half` (the lower 16 bits of the value of the state
    `of`; never saved). The initial value is `initial`, for a `low_copy` and a
    `lower_half` that of `of`; a splat takes no memory.

    A parameter with `halves` is a split fp32 master: a `low_copy` in bf16 and a `lower_half` hold it, and it has no
    memory of its own. Its value is `ingot.join_halves` of both, which functions read and write instead. Files contain
    the whole value.

    A state with `shard` is sharded: each rank holds the elements that are in its shard of a bucket
    (docs/spec/collective.md). `shard` gives the offset of the state in the bucket, in elements, and the size of the
    bucket.

    A parameter with `gathered` is replicated on every rank, but until a function has waited for the all-gather of its
    bucket (`state_gather_wait`), only the rank's shard holds what the last step wrote. `gathered` gives the number of
    the bucket, the offset of the state in it, and the size of the bucket. The states of one bucket are placed in
    memory in the layout of the bucket.

    A state with `whole` is a rank's part of a tensor of that type, which its `ingot.partition` says
    (docs/spec/partition.md). The initial value is that of the whole tensor.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Ingot_RoleAttr:$role,
                       TypeAttrOf<Ingot_Tensor>:$type, ElementsAttr:$initial,
                       OptionalAttr<FlatSymbolRefAttr>:$of, OptionalAttr<Ingot_ShardAttr>:$shard,
                       OptionalAttr<Ingot_GatheredAttr>:$gathered,
                       OptionalAttr<FlatSymbolRefArrayAttr>:$halves,
                       OptionalAttr<TypeAttrOf<Ingot_Tensor>>:$whole);
  let assemblyFormat = "`` $role $sym_name (`of` $of^)? `:` $type `=` $initial attr-dict";
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::ingot::Role":$role,
                                 "::mlir::RankedTensorType":$type, "::mlir::ElementsAttr":$initial),
    "build($_builder, $_state, name, role, type, initial, ::mlir::FlatSymbolRefAttr(), "
    "::ingot::ShardAttr(), ::ingot::GatheredAttr(), ::mlir::ArrayAttr(), ::mlir::TypeAttr());">];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getType());
    }
    /// Returns the type of the tensor that ranks have parts of, or all of.
    ::mlir::RankedTensorType getWholeType() {
      return getWhole() ? ::llvm::cast<::mlir::RankedTensorType>(*getWhole()) : getTensorType();
    }
  }];
}

def BarrierOp : Ingot_Op<"barrier", [Pure, SameBytes]> {
  let summary = "returns its operands, opaque to simplification";
  let description = [{
    Each result is the operand at the same position. Prevents a recomputed value from being merged with the original,
    and from being computed before all operands are available.
  }];
  let arguments = (ins Variadic<Ingot_StoredTensor>:$operands);
  let results = (outs Variadic<Ingot_StoredTensor>:$results);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$operands)>];
  let hasVerifier = 1;
}

def Ingot_FusionKind : I32EnumAttr<"FusionKind", "loop structure of a fusion", [
    I32EnumAttrCase<"Loop", 0, "loop">,
    I32EnumAttrCase<"Reduction", 1, "reduction">,
    I32EnumAttrCase<"Custom", 2, "custom">,
    I32EnumAttrCase<"Row", 3, "row">,
    I32EnumAttrCase<"Epilogue", 4, "epilogue">,
    I32EnumAttrCase<"Group", 5, "group">,
    I32EnumAttrCase<"Tile", 6, "tile">]> {
  let cppNamespace = "::ingot";
  let genSpecializedAttr = 0;
}
def Ingot_FusionKindAttr
    : EnumAttr<Ingot_Dialect, Ingot_FusionKind, "fusion_kind">;

def Ingot_Activation : I32EnumAttr<"Activation", "activation function of a matmul epilogue", [
    I32EnumAttrCase<"Identity", 0, "identity">,
    I32EnumAttrCase<"Relu", 1, "relu">,
    I32EnumAttrCase<"Gelu", 2, "gelu">,
    I32EnumAttrCase<"GeluGrad", 3, "gelu_grad">,
    I32EnumAttrCase<"ReluGrad", 4, "relu_grad">]> {
  let cppNamespace = "::ingot";
  let genSpecializedAttr = 0;
}

def Ingot_Summed : I32EnumAttr<"Summed", "matrix of a matmul whose sum is the gradient of a bias", [
    I32EnumAttrCase<"Lhs", 0, "lhs">,
    I32EnumAttrCase<"Rhs", 1, "rhs">,
    I32EnumAttrCase<"Result", 2, "result">]> {
  let cppNamespace = "::ingot";
  let genSpecializedAttr = 0;
}

def Ingot_LibraryEpilogueAttr : AttrDef<Ingot_Dialect, "LibraryEpilogue"> {
  let mnemonic = "library_epilogue";
  let summary = "a matmul epilogue as libraries describe it";
  let description = [{
    The result number `result` is activation(lhs x rhs + addend + bias), where input number `bias` is broadcast over
    the rows and input number `addend` has the matmul's size. `gelu` is the tanh approximation; the result number
    `auxiliary`, if there is one, is its input (the pre-activation). `gelu_grad` is the matmul times the derivative of
    `gelu` at the input number `auxiliary`. `relu_grad` is the matmul where the bit of the input number `auxiliary`, in
    the format of `pack_bits`, is set and 0 elsewhere.

    The result number `bias_grad` is the gradient of a bias: the sum of lhs or rhs over the inner dimension of the
    matmul, or of the result over its rows.
  }];
  let parameters = (ins EnumParameter<Ingot_Activation>:$activation,
                        OptionalParameter<"std::optional<int64_t>">:$bias,
                        OptionalParameter<"std::optional<int64_t>">:$addend,
                        OptionalParameter<"std::optional<int64_t>">:$auxiliary,
                        "int64_t":$result,
                        OptionalParameter<"std::optional<int64_t>">:$bias_grad,
                        OptionalParameter<"std::optional<::ingot::Summed>">:$summed);
  let assemblyFormat = [{
    `<` $activation (`bias` `=` $bias^)? (`addend` `=` $addend^)?
    (`auxiliary` `=` $auxiliary^)? `result` `=` $result
    (`bias_grad` `=` $bias_grad^ `of` $summed)? `>`
  }];
  let extraClassDeclaration = [{
    /// Returns whether the activation reads the auxiliary matrix instead of writing it.
    bool readsAuxiliary() const {
      return getActivation() == Activation::GeluGrad || getActivation() == Activation::ReluGrad;
    }
  }];
}

def FusionOp : Ingot_Op<"fusion", [IsolatedFromAbove, Pure,
    SingleBlockImplicitTerminator<"::ingot::YieldOp">]> {
  let summary = "ops that are executed as one kernel";
  let description = [{
    The arguments of the body are the operands, and it yields the results. The kinds are:

    - `loop`: all results have one shape, and each iteration computes one element of each.
    - `reduction`: the yielded values are reductions over one iteration space.
    - `row`: the iteration space consists of rows of equal length. Results have one element per element of the space
      or one per row, and reductions are over whole rows, so that a row stays in cache or registers between them.
    - `custom`: a single op with its own loop nest (KernelBody).
    - `epilogue`: a library call (EpilogueAnchor) on operands of the fusion, and ops that read its result at the
      current element; a result reuses the memory of the call's result.
    - `group`: independent `loop` fusions; the results are theirs, concatenated.
    - `tile`: the iteration space is a matrix in tiles of up to 64 x 64. Results are its elements, its elements with
      rows and columns exchanged (one result at least), or reductions of whole tiles or of the rows of each tile.

    `library` describes what an `epilogue` computes to a library that supports such epilogues. One of its results may
    then be computed in a separate loop nest, from operands of the call or from other results: the bias gradient.
  }];
  let arguments = (ins Ingot_FusionKindAttr:$kind, Variadic<Ingot_StoredTensor>:$inputs,
                       OptionalAttr<Ingot_LibraryEpilogueAttr>:$library);
  let results = (outs Variadic<Ingot_StoredTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `` $kind `(` $inputs `)` attr-dict-with-keyword `:` functional-type($inputs, $results) $body
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the library call of an `epilogue`, and null for other kinds.
    ::mlir::Operation *getAnchor();
    /// Returns the number of the result whose memory the call of an `epilogue` writes: the call's own
    /// result if the fusion yields it, otherwise the first result of the same element type.
    std::optional<unsigned> getAnchorResult();
    /// Returns the ops of an `epilogue` that compute its extra result from operands of the fusion and from
    /// other results. Empty if there is no extra result.
    ::llvm::SmallVector<::mlir::Operation *> getExtraOps();
  }];
}

def YieldOp : Ingot_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "returns the results of a fusion, of the kernel made from it, or of an iteration";
  let arguments = (ins Variadic<Ingot_StoredTensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), "build($_builder, $_state, ::mlir::ValueRange());">];
}

#endif // INGOT_DIALECTS_INGOT_STRUCTURE_STRUCTURE_TD
