// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Attention, which stays one op where a fused kernel that never stores the scores
// executes it.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_ATTENTION_ATTENTION_TD
#define INGOT_DIALECTS_INGOT_ATTENTION_ATTENTION_TD

include "dialects/ingot/ir/Dialect.td"

class Ingot_AttentionOp<string mnemonic, list<Trait> traits = []>
    : Ingot_ComputeOp<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<LibraryCall, ["getCallBuffers", "refuseCall"]>, AttrSizedOperandSegments,
        DeclareOpInterfaceMethods<Decomposable>,
        DeclareOpInterfaceMethods<CostModel, ["getFlops"]>,
        DeclareOpInterfaceMethods<PrecisionRole, ["getPrecisionRole", "isStatistic"]>])> {
  code baseDeclaration = [{
    ::ingot::WorkKind getWorkKind() { return ::ingot::WorkKind::Attention; }
    ::ingot::AttentionSizes getSizes();
    /// Returns whether entry points support the element types: an f32 bias, and no f64.
    bool hasCallableTypes();
  }];
  let extraClassDeclaration = baseDeclaration;
  code baseDefinition = [{
    ::ingot::Precision $cppClass::getPrecisionRole() {
      return ::ingot::Precision::Low;
    }
    bool $cppClass::isStatistic(::mlir::Value value) {
      return value == getLse() || value == getBias();
    }
    bool $cppClass::hasCallableTypes() {
      bool addsF32 = !getBias() || ::mlir::getElementTypeOrSelf(getBias()).isF32();
      return addsF32 && !::mlir::getElementTypeOrSelf(getOperation()->getOperand(0)).isF64();
    }
  }];
  let hasVerifier = 1;
}

/// An op whose queries, keys and values are separate tensors.
class Ingot_SeparateAttentionOp<string mnemonic, list<Trait> traits = []>
    : Ingot_AttentionOp<mnemonic, traits> {
  let extraClassDefinition = baseDefinition # [{
    ::llvm::StringRef $cppClass::refuseCall() {
      if (!getSoftcap().isZero())
        return "it has a soft cap";
      return hasCallableTypes() ? "" : "the kernel does not support the element type";
    }
    ::ingot::AttentionSizes $cppClass::getSizes() {
      return ::ingot::AttentionSizes::of(getQuery(), getKey(), getValue());
    }
  }];
}

/// An op whose queries, keys and values are parts of one tensor.
class Ingot_PackedAttentionOp<string mnemonic, list<Trait> traits = []>
    : Ingot_AttentionOp<mnemonic, traits> {
  let extraClassDeclaration = baseDeclaration # [{
    /// Returns the first head of queries, keys and values in the packed tensor.
    ::std::array<int64_t, 3> getFirstHeads() {
      ::ingot::AttentionSizes sizes = getSizes();
      return {0, sizes.heads, sizes.heads + sizes.keyHeads};
    }
  }];
  let extraClassDefinition = baseDefinition # [{
    ::llvm::StringRef $cppClass::refuseCall() {
      ::mlir::Type element = getPacked().getType().getElementType();
      if (!getSizes().packsAligned(element))
        return "keys or values would begin at an unaligned address";
      return hasCallableTypes() ? "" : "the kernel does not support the element type";
    }
    ::ingot::AttentionSizes $cppClass::getSizes() {
      return ::ingot::AttentionSizes::ofPacked(getPacked(), getKeyHeads());
    }
  }];
}

def AttentionOp : Ingot_SeparateAttentionOp<"attention", [
    DeclareOpInterfaceMethods<Differentiable>,
    DeclareOpInterfaceMethods<ModeDependent>]> {
  let summary = "softmax(scale * query key^T + bias, where allowed) value, for each head";
  let description = [{
    query is [batch, queries, heads, size], key [batch, keys, key heads, size], value [batch, keys, key heads, value
    size], the result [batch, queries, heads, value size]: the layout that a projection produces, so that no transpose
    is needed. heads is a multiple of key heads (grouped-query attention): consecutive heads share a key head. A
    `softcap` c other than 0 bounds the scores before the bias is added: c tanh(score / c).

    Query i attends to key j if -left <= j - i <= right (a bound of -1 means no bound; `right = 0` is causal), if the
    mask is true, if the bias is not -infinity, and if j is below the key sequence length of the sample. bias and mask
    are [batch, heads, queries, keys], with size 1 for a dimension along which they are broadcast (not the last);
    lengths are [batch], and negative ones count as 0. A query that attends to no key (a fully masked row) has result
    0.

    With `dropout`, attention weights (after the softmax) are zeroed with probability `ratio`, and the others are
    divided by 1 - ratio, as `ingot.dropout` with the same seed, step and stream does on a tensor [batch, heads,
    queries, keys]. The inference form has no dropout. The library of a GPU has its own random number generator, and
    so zeroes other weights at the same rate.

    `lse` [batch, heads, queries] is the log-sum-exp of the scores, and +infinity for a fully masked row; the gradient
    reads it.
  }];
  let arguments = (ins Ingot_FloatTensor:$query, Ingot_FloatTensor:$key,
                       Ingot_FloatTensor:$value, Optional<Ingot_FloatTensor>:$bias,
                       Optional<Ingot_BoolTensor>:$mask, Optional<Ingot_TensorOf<[I32]>>:$lengths,
                       Optional<Ingot_TensorOf<[I64]>>:$seed, Optional<Ingot_TensorOf<[I64]>>:$step,
                       F64Attr:$scale,
                       DefaultValuedAttr<I64Attr, "-1">:$left,
                       DefaultValuedAttr<I64Attr, "-1">:$right,
                       DefaultValuedAttr<F64Attr, "0.0">:$softcap,
                       DefaultValuedAttr<F64Attr, "0.0">:$ratio,
                       DefaultValuedAttr<I32Attr, "0">:$stream);
  let results = (outs Ingot_FloatTensor:$result, Ingot_FloatTensor:$lse);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`bias` $bias^)? (`mask` $mask^)? (`lengths` $lengths^)?
    (`dropout` $seed^ `,` $step)? attr-dict `:` functional-type(operands, results)
  }];
}

def AttentionGradOp : Ingot_SeparateAttentionOp<"attention_grad"> {
  let summary = "the gradients of `attention` with respect to query, key and value";
  let description = [{
    `output` and `lse` are the results of `attention` on the other operands,
    `cotangent` is that of `output`. Scores are recomputed: they are never stored.
  }];
  let arguments = (ins Ingot_FloatTensor:$query, Ingot_FloatTensor:$key,
                       Ingot_FloatTensor:$value, Ingot_FloatTensor:$output,
                       Ingot_FloatTensor:$lse, Ingot_FloatTensor:$cotangent,
                       Optional<Ingot_FloatTensor>:$bias,
                       Optional<Ingot_BoolTensor>:$mask, Optional<Ingot_TensorOf<[I32]>>:$lengths,
                       Optional<Ingot_TensorOf<[I64]>>:$seed, Optional<Ingot_TensorOf<[I64]>>:$step,
                       F64Attr:$scale,
                       DefaultValuedAttr<I64Attr, "-1">:$left,
                       DefaultValuedAttr<I64Attr, "-1">:$right,
                       DefaultValuedAttr<F64Attr, "0.0">:$softcap,
                       DefaultValuedAttr<F64Attr, "0.0">:$ratio,
                       DefaultValuedAttr<I32Attr, "0">:$stream);
  let results = (outs Ingot_FloatTensor:$query_grad, Ingot_FloatTensor:$key_grad,
                      Ingot_FloatTensor:$value_grad);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $output `,` $lse `,` $cotangent
    (`bias` $bias^)? (`mask` $mask^)? (`lengths` $lengths^)?
    (`dropout` $seed^ `,` $step)? attr-dict `:` functional-type(operands, results)
  }];
}

def PackedAttentionOp : Ingot_PackedAttentionOp<"packed_attention", [
    DeclareOpInterfaceMethods<Differentiable>,
    DeclareOpInterfaceMethods<ModeDependent>]> {
  let summary = "`attention` with queries, keys and values packed in one tensor";
  let description = [{
    packed is [batch, rows, heads + 2 key heads, size], the result of one projection: the heads of the queries, then
    those of the keys, then those of the values. The semantics are those of `attention`; the result is [batch, rows,
    heads, size]. The kernel reads all three in place, and its gradient writes theirs packed, as the operand of one
    matmul.

    Before `--ingot-merge-projections`:
    ```mlir
    %q = ingot.slice %y starts = [0, 0, 0] limits = [8, 256, 384] strides = [1, 1, 1] : ...
    %k = ingot.slice %y starts = [0, 0, 384] limits = [8, 256, 768] strides = [1, 1, 1] : ...
    %v = ingot.slice %y starts = [0, 0, 768] limits = [8, 256, 1152] strides = [1, 1, 1] : ...
    %result, %lse = ingot.attention %q1, %k1, %v1 {right = 0 : i64, scale = 0.125 : f64} : ...
    ```
    After, where `%q1`, `%k1` and `%v1` were these, reshaped to [8, 256, 6, 64]:
    ```mlir
    %0 = ingot.reshape %y : tensor<8x256x1152xf32> -> tensor<8x256x18x64xf32>
    %result, %lse = ingot.packed_attention %0 {key_heads = 6 : i64, right = 0 : i64, scale = 0.125 : f64} : ...
    ```
  }];
  let arguments = (ins Ingot_FloatTensor:$packed, Optional<Ingot_FloatTensor>:$bias,
                       Optional<Ingot_BoolTensor>:$mask, Optional<Ingot_TensorOf<[I32]>>:$lengths,
                       Optional<Ingot_TensorOf<[I64]>>:$seed, Optional<Ingot_TensorOf<[I64]>>:$step,
                       I64Attr:$key_heads, F64Attr:$scale,
                       DefaultValuedAttr<I64Attr, "-1">:$left,
                       DefaultValuedAttr<I64Attr, "-1">:$right,
                       DefaultValuedAttr<F64Attr, "0.0">:$ratio,
                       DefaultValuedAttr<I32Attr, "0">:$stream);
  let results = (outs Ingot_FloatTensor:$result, Ingot_FloatTensor:$lse);
  let assemblyFormat = [{
    $packed (`bias` $bias^)? (`mask` $mask^)? (`lengths` $lengths^)?
    (`dropout` $seed^ `,` $step)? attr-dict `:` functional-type(operands, results)
  }];
}

def PackedAttentionGradOp : Ingot_PackedAttentionOp<"packed_attention_grad"> {
  let summary = "the gradient of `packed_attention` with respect to packed";
  let description = [{
    `output` and `lse` are the results of `packed_attention` on the other operands,
    `cotangent` is that of `output`.
  }];
  let arguments = (ins Ingot_FloatTensor:$packed, Ingot_FloatTensor:$output,
                       Ingot_FloatTensor:$lse, Ingot_FloatTensor:$cotangent,
                       Optional<Ingot_FloatTensor>:$bias,
                       Optional<Ingot_BoolTensor>:$mask, Optional<Ingot_TensorOf<[I32]>>:$lengths,
                       Optional<Ingot_TensorOf<[I64]>>:$seed, Optional<Ingot_TensorOf<[I64]>>:$step,
                       I64Attr:$key_heads, F64Attr:$scale,
                       DefaultValuedAttr<I64Attr, "-1">:$left,
                       DefaultValuedAttr<I64Attr, "-1">:$right,
                       DefaultValuedAttr<F64Attr, "0.0">:$ratio,
                       DefaultValuedAttr<I32Attr, "0">:$stream);
  let results = (outs Ingot_FloatTensor:$packed_grad);
  let assemblyFormat = [{
    $packed `,` $output `,` $lse `,` $cotangent (`bias` $bias^)? (`mask` $mask^)? (`lengths` $lengths^)?
    (`dropout` $seed^ `,` $step)? attr-dict `:` functional-type(operands, results)
  }];
}

#endif // INGOT_DIALECTS_INGOT_ATTENTION_ATTENTION_TD
