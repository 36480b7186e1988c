// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Contractions, which matrix libraries execute.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_CONTRACTION_CONTRACTION_TD
#define INGOT_DIALECTS_INGOT_CONTRACTION_CONTRACTION_TD

include "dialects/ingot/ir/Dialect.td"

def MatmulOp : Ingot_ComputeOp<"matmul", [DeclareOpInterfaceMethods<LibraryCall, ["getCallBuffers"]>,
    DeclareOpInterfaceMethods<InferTypeOpInterface>,
    DeclareOpInterfaceMethods<ScalarBody, ["isLooped"]>,
    DeclareOpInterfaceMethods<EpilogueAnchor>,
    DeclareOpInterfaceMethods<Differentiable>,
    DeclareOpInterfaceMethods<CostModel, ["getFlops"]>,
    DeclareOpInterfaceMethods<PrecisionRole, ["getPrecisionRole", "canKeepResult",
        "getFloat8Reads", "buildFloat8"]>]> {
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

def Ingot_ScaleLayout : I32EnumAttr<"ScaleLayout", "what of a matrix shares a scale, and where the scale is", [
    I32EnumAttrCase<"Tensor", 0, "tensor">,
    I32EnumAttrCase<"Runs", 1, "runs">,
    I32EnumAttrCase<"Squares", 2, "squares">,
    I32EnumAttrCase<"Tiles", 3, "tiles">]> {
  let cppNamespace = "::ingot";
  let genSpecializedAttr = 0;
}
def Ingot_ScaleLayoutAttr : EnumAttr<Ingot_Dialect, Ingot_ScaleLayout, "scale_layout">;

def ScaledMatmulOp : Ingot_ComputeOp<"scaled_matmul", [DeclareOpInterfaceMethods<LibraryCall>,
    DeclareOpInterfaceMethods<ScalarBody, ["isLooped"]>,
    DeclareOpInterfaceMethods<EpilogueAnchor>,
    DeclareOpInterfaceMethods<CostModel, ["getFlops"]>,
    DeclareOpInterfaceMethods<PrecisionRole, ["getPrecisionRole"]>]> {
  let summary = "multiplies matrices of 8-bit floats with scales";
  let description = [{
    lhs is [m, k], or [k, m] with `transposed`; rhs is [k, n], or [n, k] with `transposed`; the result is [m, n]. An
    element of an operand is the 8-bit float times its scale, where rows are m of lhs and n of rhs:

    | layout | scales | of each |
    |---|---|---|
    | `tensor` | f32 | whole operand |
    | `runs` | f32: [ceil(k / 128), rows] | 128 elements along k |
    | `squares` | f32: [ceil(rows / 128), ceil(k / 128) rounded up to 4] | 128 rows by 128 elements along k |
    | `tiles` | ui8: [ceil(rows / 128), ceil(k / 128), 32, 4, 4] | 32 elements along k |

    A byte e of `tiles` stands for 2^(e - 127); row r and part p are at [r / 128, p / 4, r % 32, r % 128 / 32, p % 4],
    as tensor cores take them (OCP Microscaling Formats, MXFP8). Sums are in f32.
  }];
  let arguments = (ins Ingot_Float8Tensor:$lhs, Ingot_Float8Tensor:$rhs,
                       Ingot_TensorOf<[F32, UI8]>:$lhs_scales, Ingot_TensorOf<[F32, UI8]>:$rhs_scales,
                       UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs,
                       Ingot_ScaleLayoutAttr:$lhs_layout, Ingot_ScaleLayoutAttr:$rhs_layout);
  let results = (outs Ingot_TensorOf<[F32, BF16, F16]>:$result);
  let assemblyFormat = [{
    $lhs (`transposed` $transpose_lhs^)? `by` $lhs_layout $lhs_scales `,`
    $rhs (`transposed` $transpose_rhs^)? `by` $rhs_layout $rhs_scales attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = roundsMoreThanOnce # [{
    ::ingot::WorkKind getWorkKind() { return ::ingot::WorkKind::Matmul; }
    /// Returns the sizes of the matmul, as MatmulOp does.
    MatmulOp::Sizes getSizes();
    /// Returns the type of the scales of a matrix.
    static ::mlir::RankedTensorType getScalesType(::mlir::MLIRContext *context, ScaleLayout layout, int64_t rows,
                                                  int64_t k);
  }];
}

#endif // INGOT_DIALECTS_INGOT_CONTRACTION_CONTRACTION_TD
