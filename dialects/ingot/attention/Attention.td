//===----------------------------------------------------------------------===//
// Attention: kept whole where a kernel that never stores the scores runs it.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_ATTENTION_ATTENTION_TD
#define INGOT_DIALECTS_INGOT_ATTENTION_ATTENTION_TD

include "dialects/ingot/ir/Dialect.td"

class Ingot_AttentionOp<string mnemonic, list<Trait> traits = []>
    : Ingot_ComputeOp<mnemonic, !listconcat(traits, [
        LibraryAnchor, AttrSizedOperandSegments,
        DeclareOpInterfaceMethods<Decomposable, ["hasLibraryCall"]>,
        DeclareOpInterfaceMethods<CostModel, ["getFlops"]>,
        DeclareOpInterfaceMethods<PrecisionRole, ["getPrecisionRole", "isStatistic"]>])> {
  let extraClassDeclaration = [{
    ::ingot::WorkKind getWorkKind() { return ::ingot::WorkKind::Attention; }
    ::ingot::AttentionSizes getSizes();
  }];
  let extraClassDefinition = [{
    ::ingot::Precision $cppClass::getPrecisionRole() {
      return ::ingot::Precision::LowOnDevice;
    }
    bool $cppClass::isStatistic(::mlir::Value value) {
      return value == getLse() || value == getBias();
    }
    bool $cppClass::hasLibraryCall(bool onDevice) {
      ::mlir::Type element = getQuery().getType().getElementType();
      if (!onDevice)
        return element.isF32() && getSoftcap().isZero();
      return (element.isBF16() || element.isF16()) && getSoftcap().isZero() && !getBias() &&
             !getMask() && getSizes().fitDevice(getLeft(), getRight());
    }
    ::ingot::AttentionSizes $cppClass::getSizes() {
      return ::ingot::AttentionSizes::of(getQuery(), getKey(), getValue());
    }
  }];
  let hasVerifier = 1;
}

def AttentionOp : Ingot_AttentionOp<"attention", [
    DeclareOpInterfaceMethods<Differentiable>]> {
  let summary = "softmax(scale * query key^T + bias, where allowed) value, for each head";
  let description = [{
    query is [batch, queries, heads, size], key [batch, keys, key heads, size],
    value [batch, keys, key heads, value size], the result [batch, queries, heads, value size]: heads stand
    where a projection leaves them, so that no transpose is needed. heads is a
    multiple of key heads: neighbours share a key head. A `softcap` c that is not 0 bounds scores,
    before the bias is added: c tanh(score / c).

    Query i may look at key j if -left <= j - i <= right (a bound of -1: no bound; `right = 0` is causal),
    if the mask says so, and if the bias is not -infinity. bias and mask are [batch, heads, queries, keys], with
    1 for a dimension along which they repeat (not the last). A query that may look nowhere has result 0.

    `lse` [batch, heads, queries] is the logarithm of the sum of exponentials of
    the scores, +infinity for a query that may look nowhere; the gradient uses it.
  }];
  let arguments = (ins Ingot_FloatTensor:$query, Ingot_FloatTensor:$key,
                       Ingot_FloatTensor:$value, Optional<Ingot_FloatTensor>:$bias,
                       Optional<Ingot_BoolTensor>:$mask, F64Attr:$scale,
                       DefaultValuedAttr<I64Attr, "-1">:$left,
                       DefaultValuedAttr<I64Attr, "-1">:$right,
                       DefaultValuedAttr<F64Attr, "0.0">:$softcap);
  let results = (outs Ingot_FloatTensor:$result, Ingot_FloatTensor:$lse);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`bias` $bias^)? (`mask` $mask^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def AttentionGradOp : Ingot_AttentionOp<"attention_grad"> {
  let summary = "the gradients of `attention` with respect to query, key and value";
  let description = [{
    `output` and `lse` are the results of `attention` on the other operands,
    `cotangent` is that of `output`. Scores are computed again: they are never stored.
  }];
  let arguments = (ins Ingot_FloatTensor:$query, Ingot_FloatTensor:$key,
                       Ingot_FloatTensor:$value, Ingot_FloatTensor:$output,
                       Ingot_FloatTensor:$lse, Ingot_FloatTensor:$cotangent,
                       Optional<Ingot_FloatTensor>:$bias,
                       Optional<Ingot_BoolTensor>:$mask, F64Attr:$scale,
                       DefaultValuedAttr<I64Attr, "-1">:$left,
                       DefaultValuedAttr<I64Attr, "-1">:$right,
                       DefaultValuedAttr<F64Attr, "0.0">:$softcap);
  let results = (outs Ingot_FloatTensor:$query_grad, Ingot_FloatTensor:$key_grad,
                      Ingot_FloatTensor:$value_grad);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $output `,` $lse `,` $cotangent
    (`bias` $bias^)? (`mask` $mask^)? attr-dict `:` functional-type(operands, results)
  }];
}

#endif // INGOT_DIALECTS_INGOT_ATTENTION_ATTENTION_TD
