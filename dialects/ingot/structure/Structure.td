//===----------------------------------------------------------------------===//
// Structure: state, ordering, and the regions that become kernels.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_STRUCTURE_STRUCTURE_TD
#define INGOT_DIALECTS_INGOT_STRUCTURE_STRUCTURE_TD

include "dialects/ingot/ir/Dialect.td"
include "mlir/IR/RegionKindInterface.td"

def Ingot_Role : I32EnumAttr<"Role", "what a state is for", [
    I32EnumAttrCase<"Parameter", 0, "parameter">,
    I32EnumAttrCase<"Frozen", 1, "frozen">,
    I32EnumAttrCase<"Running", 2, "running">,
    I32EnumAttrCase<"Moment", 3, "moment">,
    I32EnumAttrCase<"Step", 4, "step">,
    I32EnumAttrCase<"Seed", 5, "seed">,
    I32EnumAttrCase<"LossScale", 6, "loss_scale">,
    I32EnumAttrCase<"LowCopy", 7, "low_copy">,
    I32EnumAttrCase<"Accumulator", 8, "accumulator">,
    I32EnumAttrCase<"Residual", 9, "residual">,
    I32EnumAttrCase<"Basis", 10, "basis">,
    I32EnumAttrCase<"LowerHalf", 11, "lower_half">]> {
  let cppNamespace = "::ingot";
  let genSpecializedAttr = 0;
}
def Ingot_RoleAttr : EnumAttr<Ingot_Dialect, Ingot_Role, "role">;

def Ingot_ShardAttr : AttrDef<Ingot_Dialect, "Shard"> {
  let mnemonic = "shard";
  let summary = "a tensor's place in a bucket of which each rank has a shard";
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
    /// Whether a tensor of that many elements is within the bucket.
    bool holds(int64_t elements) const { return getFirst() + elements <= getOf(); }
  }];
}

def Ingot_GatheredAttr : AttrDef<Ingot_Dialect, "Gathered"> {
  let mnemonic = "gathered";
  let summary = "a state's place in a bucket that is collected behind the end of a step";
  let description = [{
    As `#ingot.shard`, in the bucket number `bucket`.

    ```mlir
    #ingot.gathered<bucket = 0, first = 32, of = 96>
    ```
  }];
  let parameters = (ins "int64_t":$bucket, "int64_t":$first, "int64_t":$of);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The place without the bucket's number.
    ShardAttr getShard() const { return ShardAttr::get(getContext(), getFirst(), getOf()); }
  }];
}

def StateOp : Ingot_Op<"state", [Symbol]> {
  let summary = "a tensor that outlives the step";
  let description = [{
    Roles: `parameter` (trained), `frozen` (an initializer that is not), `running`
    (statistics that the forward pass updates), `moment` (optimizer), `step` (i64, steps
    taken), `seed` (i64), `loss_scale` (scalars of dynamic loss scaling), `low_copy` (the
    value of the state `of`, rounded to this state's element type; never saved), `accumulator` (sums over
    the micro-batches of a step; as at the start between steps, so never saved), `residual` (what a rank has not
    sent of a gradient yet: each rank has its own), `basis` (what gradients are compressed with), `lower_half` (of
    the value of the state `of`; never saved). The initial value is `initial`, for a `low_copy` and a `lower_half`
    that of `of`; a splat costs nothing.

    A parameter with `halves`, a `low_copy` in bf16 and a `lower_half`, has no memory of its own: its value is
    `ingot.join_halves` of those, which functions read and write in its place. Files have the whole value.

    A state with `shard` is held in parts: each rank has the elements that are in its shard of a
    bucket (docs/spec/collective.md), at the place `shard`.

    A parameter with `gathered` is whole on every rank, but what a step wrote of it only in the rank's shard until a function has
    waited for its bucket (`state_gather_wait`). States of one bucket lie in memory as the bucket has them.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Ingot_RoleAttr:$role,
                       TypeAttrOf<Ingot_Tensor>:$type, ElementsAttr:$initial,
                       OptionalAttr<FlatSymbolRefAttr>:$of, OptionalAttr<Ingot_ShardAttr>:$shard,
                       OptionalAttr<Ingot_GatheredAttr>:$gathered,
                       OptionalAttr<FlatSymbolRefArrayAttr>:$halves);
  let assemblyFormat = "`` $role $sym_name (`of` $of^)? `:` $type `=` $initial attr-dict";
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::ingot::Role":$role,
                                 "::mlir::RankedTensorType":$type, "::mlir::ElementsAttr":$initial),
    [{
      build($_builder, $_state, name, role, type, initial, ::mlir::FlatSymbolRefAttr(), ::ingot::ShardAttr(),
            ::ingot::GatheredAttr(), ::mlir::ArrayAttr());
    }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getType());
    }
  }];
}

def BarrierOp : Ingot_Op<"barrier", [Pure, SameBytes]> {
  let summary = "passes values through, opaque to simplification";
  let description = [{
    Each result is the operand of the same position. Keeps a recomputed value from
    being merged with the original, and from starting before all operands are there.
  }];
  let arguments = (ins Variadic<Ingot_Tensor>:$operands);
  let results = (outs Variadic<Ingot_Tensor>:$results);
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
    I32EnumAttrCase<"Group", 5, "group">]> {
  let cppNamespace = "::ingot";
  let genSpecializedAttr = 0;
}
def Ingot_FusionKindAttr
    : EnumAttr<Ingot_Dialect, Ingot_FusionKind, "fusion_kind">;

def Ingot_Activation : I32EnumAttr<"Activation", "function of a product's elements", [
    I32EnumAttrCase<"Identity", 0, "identity">,
    I32EnumAttrCase<"Relu", 1, "relu">,
    I32EnumAttrCase<"Gelu", 2, "gelu">,
    I32EnumAttrCase<"GeluGrad", 3, "gelu_grad">,
    I32EnumAttrCase<"ReluGrad", 4, "relu_grad">]> {
  let cppNamespace = "::ingot";
  let genSpecializedAttr = 0;
}

def Ingot_Summed : I32EnumAttr<"Summed", "matrix of a product whose sum is a bias's gradient", [
    I32EnumAttrCase<"Lhs", 0, "lhs">,
    I32EnumAttrCase<"Rhs", 1, "rhs">,
    I32EnumAttrCase<"Result", 2, "result">]> {
  let cppNamespace = "::ingot";
  let genSpecializedAttr = 0;
}

def Ingot_LibraryEpilogueAttr : AttrDef<Ingot_Dialect, "LibraryEpilogue"> {
  let mnemonic = "library_epilogue";
  let summary = "an epilogue in the terms of libraries of matrix products";
  let description = [{
    The result number `result` is activation(product + addend + bias), with input number `bias`
    repeated for each row and input number `addend` of the product's size. `gelu` is the
    form with tanh; the result number `auxiliary`, if there is one, is what it is computed from. `gelu_grad` is
    the product times the derivative of `gelu` at the input number `auxiliary`. That of `relu` has, as `pack_bits` packs them,
    the signs of the result, which `relu_grad` reads: it is the product where they are set, else 0.

    The result number `bias_grad` is a sum: of lhs or rhs over the product's inner dimension, or of the result over its rows.
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
    /// Whether the function reads the auxiliary matrix, and does not write it.
    bool readsAuxiliary() const {
      return getActivation() == Activation::GeluGrad || getActivation() == Activation::ReluGrad;
    }
    /// The result that is not computed element by element with the others: the gradient of a bias, or signs.
    std::optional<int64_t> getExtraResult() const {
      return getActivation() == Activation::Relu ? getAuxiliary() : getBiasGrad();
    }
  }];
}

def FusionOp : Ingot_Op<"fusion", [IsolatedFromAbove, Pure,
    SingleBlockImplicitTerminator<"::ingot::YieldOp">]> {
  let summary = "ops that run as one kernel";
  let description = [{
    The body's arguments are the operands; it yields the results. `loop`: all
    results have one shape and each element is computed by one iteration.
    `reduction`: the yielded values are reductions of one iteration space. `row`: the space is
    rows of equal length, results have an element per element of the space or one per row, and reductions
    fold whole rows, so that a row need not leave the processor between them. `custom`: a single op with a loop
    nest of its own (KernelBody). `epilogue`: a library call (EpilogueAnchor) on operands of the fusion, and
    ops that read its result at the element at work; a result has the memory of the call's. `group`:
    `loop` fusions that read nothing of each other; the results are theirs, one after the other.

    `library` says what an `epilogue` computes to a library that has such epilogues. One of its results may then be computed from
    operands of the call, or from other results, in an order of its own (`getExtraResult`).
  }];
  let arguments = (ins Ingot_FusionKindAttr:$kind, Variadic<Ingot_Tensor>:$inputs,
                       OptionalAttr<Ingot_LibraryEpilogueAttr>:$library);
  let results = (outs Variadic<Ingot_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `` $kind `(` $inputs `)` attr-dict-with-keyword `:` functional-type($inputs, $results) $body
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The library call of an `epilogue`; null in fusions of other kinds.
    ::mlir::Operation *getAnchor();
    /// The number of the result in whose memory the call of an `epilogue` leaves its own:
    /// that result itself or, where it is not one, the first with elements of the same type.
    std::optional<unsigned> getAnchorResult();
    /// The ops of an `epilogue` that compute its extra result from operands of the fusion and from other results; empty if
    /// it has none.
    ::llvm::SmallVector<::mlir::Operation *> getExtraOps();
  }];
}

def YieldOp : Ingot_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "the results of a fusion, or of the kernel it became";
  let arguments = (ins Variadic<Ingot_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), "build($_builder, $_state, ::mlir::ValueRange());">];
}

#endif // INGOT_DIALECTS_INGOT_STRUCTURE_STRUCTURE_TD
