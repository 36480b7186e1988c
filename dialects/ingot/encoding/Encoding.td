// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Ops on tensors that are encoded: codes, and scales that blocks of them share.
// They are generated apart from the other ops, because few passes know them.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_ENCODING_ENCODING_TD
#define INGOT_DIALECTS_INGOT_ENCODING_ENCODING_TD

include "dialects/ingot/ir/Dialect.td"

def DecodedMatmulOp : Ingot_ComputeOp<"decoded_matmul", [DeclareOpInterfaceMethods<LibraryCall, ["getCallBuffers"]>,
    DeclareOpInterfaceMethods<Differentiable>,
    DeclareOpInterfaceMethods<CostModel, ["getFlops"]>,
    DeclareOpInterfaceMethods<PrecisionRole, ["getPrecisionRole", "canKeepResult", "isStatistic"]>]> {
  let summary = "multiplies a matrix by one that is encoded";
  let description = [{
    lhs is [m, k]; the encoded matrix is [k, n], or [n, k] with `transposed`; the result is [m, n]. `codes` and
    `scales`, and `nested` where scales are codes as well, are one-dimensional and as docs/spec/encoding.md says for
    `kind` and `block`. Elements are decoded in f32 and rounded to the element type of lhs. Nothing depends on the
    encoded matrix for its gradient.

    ```mlir
    %y = ingot.decoded_matmul %x, %codes transposed by %scales as "nf4" block 64
        : (tensor<2x64xf32>, tensor<256xui8>, tensor<8xf32>) -> tensor<2x8xf32>
    ```
  }];
  let arguments = (ins Ingot_TensorOf<[F32, BF16, F16]>:$lhs, Ingot_TensorOf<[UI8]>:$codes,
                       Ingot_TensorOf<[F32, UI8]>:$scales, Optional<Ingot_TensorOf<[F32]>>:$nested,
                       UnitAttr:$transpose_rhs, StrAttr:$kind, I64Attr:$block);
  let results = (outs Ingot_TensorOf<[F32, BF16, F16]>:$result);
  let assemblyFormat = [{
    $lhs `,` $codes (`transposed` $transpose_rhs^)? `by` $scales (`,` $nested^)? `as` $kind `block` $block attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::ingot::WorkKind getWorkKind() { return ::ingot::WorkKind::Matmul; }
    bool roundsOnce() { return false; }
    /// Returns the shape of the encoded matrix as it is stored.
    ::llvm::SmallVector<int64_t, 2> getStoredShape();
  }];
}

#endif // INGOT_DIALECTS_INGOT_ENCODING_ENCODING_TD
