// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Code for the host, which all targets share.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_HOST_PASSES_TD
#define INGOT_PASSES_TARGETS_HOST_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandMath : Pass<"ingot-expand-math"> {
  let summary = "replaces f32 exp, log, tanh, erf and log1p by polynomials that vectorize";
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect"
  ];
  let description = [{
    Runs on kernel functions; f64 math remains a call of the C library. Conversions between f32 and bf16, for which
    few CPUs have instructions, become integer arithmetic, and so do those between f32 and 8-bit floats, which saturate
    as `ingot.cast` does.

    With `approximate-exp`, e^x is `ex2.approx.ftz` of x log2(e): one multiplication and one instruction, for which the
    polynomial takes about 23. Its relative error is at most 2^-22 + |x| 2^-23.5, and results below 2^-126 are 0. The
    quotient in tanh is then `rcp.approx.ftz`, and where tanh(x) or its square is only added to numbers of at least 1,
    as in GELU and its gradient, tanh has no polynomial around 0: its error is below 2^-21, and not relative.
  }];
  let options = [
    Option<"interleave", "interleave", "unsigned", "1",
           "iterations of innermost elementwise loops that LLVM interleaves where there are polynomials, since each "
           "operation waits for the one before">,
    Option<"polynomials", "polynomials", "bool", "true", "expand functions; otherwise only conversions">,
    Option<"ldexp", "ldexp", "bool", "false",
           "use llvm.intr.ldexp, for which the CPU has an instruction (AVX-512)">,
    Option<"roundBf16", "round-bf16", "bool", "false",
           "round to bf16 with the target's instruction; that of AVX512-BF16 treats numbers below 2^-126 as zero">,
    Option<"roundFloat8", "round-float8", "bool", "false",
           "leave conversions to 8-bit floats, for which the target has an instruction">,
    Option<"approximateExp", "approximate-exp", "bool", "false",
           "compute exp by a GPU's instruction for 2^x, unless the module has the attribute `ingot.exact_math`">,
  ];
}

def ConvertKernels : Pass<"ingot-convert-kernels", "::mlir::ModuleOp"> {
  let summary = "converts kernel functions to the LLVM dialect";
  let description = [{
    Memrefs become bare pointers; functions without an LLVM intrinsic are called from the C library. Steps are left
    for `--ingot-lower-steps`.
  }];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect"
  ];
}

def LowerSteps : Pass<"ingot-lower-steps", "::mlir::ModuleOp"> {
  let summary = "lowers steps to the LLVM dialect and defines `ingot_module`";
  let description = [{
    Assumes kernels in the LLVM dialect. A step becomes a function of the context and the two memory blocks; each call
    becomes a constant descriptor and a call of its ABI entry point. Defines `ingot_module` (docs/abi.md) with the
    contents of the module's attributes, the manifest and the GPU kernels, and references to the blobs that the link
    adds: the initial values and the literal bytes of the export.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // INGOT_PASSES_TARGETS_HOST_PASSES_TD
