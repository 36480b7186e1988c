// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Counter-based random numbers, which recomputation reproduces.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_RANDOM_RANDOM_TD
#define INGOT_DIALECTS_INGOT_RANDOM_RANDOM_TD

include "dialects/ingot/ir/Dialect.td"

def RandomUniformOp : Ingot_ComputeOp<"random_uniform", [
    DeclareOpInterfaceMethods<ScalarBody>]> {
  let summary = "uniform in [0, 1), a function of seed, step, stream and position only";
  let description = [{
    Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
    SC 2011). Key: the low and high word of `seed`. Counter words: low and high word of
    p / 4, where p is the element's row-major position; low word of `step`; `stream`.
    The element is made of output word p mod 4: its upper 24 bits times 2^-24 (for
    f64 too). `stream` distinguishes the random ops of a step.

    The result may be a part of a tensor with the shape `whole`, whose element `first` in row-major order is the part's
    first one: p is the position there.
  }];
  let arguments = (ins StaticShapeTensorOf<[I64]>:$seed, StaticShapeTensorOf<[I64]>:$step,
                       Optional<StaticShapeTensorOf<[I64]>>:$first, I32Attr:$stream,
                       OptionalAttr<DenseI64ArrayAttr>:$whole);
  let results = (outs Ingot_FloatTensor:$result);
  let assemblyFormat = [{
    $seed `,` $step (`from` $first^ `of` $whole)? `stream` `=` $stream attr-dict `:`
    functional-type(operands, results)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$seed, "::mlir::Value":$step,
                                 "uint32_t":$stream), [{
    build($_builder, $_state, type, seed, step, /*first=*/::mlir::Value(), stream, /*whole=*/{});
  }]>];
  let hasVerifier = 1;
}

def DropoutOp : Ingot_ComputeOp<"dropout", [
    DeclareOpInterfaceMethods<Differentiable>,
    DeclareOpInterfaceMethods<Decomposable>,
    DeclareOpInterfaceMethods<ModeDependent>]> {
  let summary = "zeroes elements with probability `ratio`, divides the others by 1 - ratio";
  let description = [{
    `mask` is true for the elements that are not zeroed: where `random_uniform(seed, step, stream)`
    is at least `ratio`. The inference form returns the operand and a mask of true. `first` and `whole` are those of
    `random_uniform`.
  }];
  let arguments = (ins Ingot_FloatTensor:$operand, StaticShapeTensorOf<[I64]>:$seed,
                       StaticShapeTensorOf<[I64]>:$step, Optional<StaticShapeTensorOf<[I64]>>:$first,
                       F64Attr:$ratio, I32Attr:$stream, OptionalAttr<DenseI64ArrayAttr>:$whole);
  let results = (outs Ingot_FloatTensor:$result, Ingot_BoolTensor:$mask);
  let assemblyFormat = [{
    $operand `,` $seed `,` $step (`from` $first^ `of` $whole)? `ratio` `=` $ratio `stream` `=` $stream attr-dict `:`
    functional-type(operands, results)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Value":$seed, "::mlir::Value":$step,
                                 "const ::llvm::APFloat &":$ratio, "uint32_t":$stream), [{
    auto type = ::llvm::cast<::mlir::RankedTensorType>(operand.getType());
    build($_builder, $_state, type, type.clone($_builder.getI1Type()), operand, seed, step,
          /*first=*/::mlir::Value(), ratio, stream, /*whole=*/{});
  }]>];
  let hasVerifier = 1;
}

#endif // INGOT_DIALECTS_INGOT_RANDOM_RANDOM_TD
