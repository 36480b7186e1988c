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
  }];
  let arguments = (ins StaticShapeTensorOf<[I64]>:$seed, StaticShapeTensorOf<[I64]>:$step,
                       I32Attr:$stream);
  let results = (outs Ingot_FloatTensor:$result);
  let assemblyFormat = "$seed `,` $step `stream` `=` $stream attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def DropoutOp : Ingot_ComputeOp<"dropout", [
    DeclareOpInterfaceMethods<Differentiable>,
    DeclareOpInterfaceMethods<Decomposable>,
    DeclareOpInterfaceMethods<ModeDependent>]> {
  let summary = "zeroes elements with probability `ratio`, divides the others by 1 - ratio";
  let description = [{
    `mask` is true for the elements that are not zeroed: where `random_uniform(seed, step, stream)`
    is at least `ratio`. The inference form returns the operand and a mask of true.
  }];
  let arguments = (ins Ingot_FloatTensor:$operand, StaticShapeTensorOf<[I64]>:$seed,
                       StaticShapeTensorOf<[I64]>:$step, F64Attr:$ratio, I32Attr:$stream);
  let results = (outs Ingot_FloatTensor:$result, Ingot_BoolTensor:$mask);
  let assemblyFormat = [{
    $operand `,` $seed `,` $step `ratio` `=` $ratio `stream` `=` $stream attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // INGOT_DIALECTS_INGOT_RANDOM_RANDOM_TD
