// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Contractions, which matrix libraries execute.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_CONTRACTION_CONTRACTION_TD
#define INGOT_DIALECTS_INGOT_CONTRACTION_CONTRACTION_TD

include "dialects/ingot/ir/Dialect.td"

def MatmulOp : Ingot_ComputeOp<"matmul", [DeclareOpInterfaceMethods<LibraryCall>,
    DeclareOpInterfaceMethods<InferTypeOpInterface>,
    DeclareOpInterfaceMethods<ScalarBody, ["isLooped"]>,
    DeclareOpInterfaceMethods<EpilogueAnchor>,
    DeclareOpInterfaceMethods<RowSplit>,
    DeclareOpInterfaceMethods<Differentiable>,
    DeclareOpInterfaceMethods<CostModel, ["getFlops"]>,
    DeclareOpInterfaceMethods<PrecisionRole, ["getPrecisionRole", "canKeepResult",
        "getFloat8Reads"]>]> {
  let summary = "multiplies matrices over the last two dimensions, batched over the others";
  let description = [{
    lhs is [batch..., m, k], or [batch..., k, m] with `transpose_lhs`; rhs is
    [batch..., k, n], or [batch..., n, k] with `transpose_rhs`; the result is
    [batch..., m, n]. Batch dimensions are equal. 16-bit operands are accumulated in f32, and
    their result may be f32.
  }];
  let arguments = (ins Ingot_FloatTensor:$lhs, Ingot_FloatTensor:$rhs,
                       UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs Ingot_FloatTensor:$result);
  let assemblyFormat = [{
    $lhs (`transposed` $transpose_lhs^)? `,` $rhs (`transposed` $transpose_rhs^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = roundsMoreThanOnce # [{
    ::ingot::WorkKind getWorkKind() { return ::ingot::WorkKind::Matmul; }
    /// The sizes of the matmul: result [batch, m, n], inner dimension k.
    struct Sizes { int64_t batch, m, n, k; };
    Sizes getSizes();
    /// Accepts results that are wider than the inferred type.
    static bool isCompatibleReturnTypes(::mlir::TypeRange inferred,
                                        ::mlir::TypeRange actual);
  }];
}

#endif // INGOT_DIALECTS_INGOT_CONTRACTION_CONTRACTION_TD
