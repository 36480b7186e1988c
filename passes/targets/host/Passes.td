//===----------------------------------------------------------------------===//
//
// What every target shares: code for the host.
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
    Only kernels have any; f64 goes to the C library. Conversions between f32 and bf16,
    which few processors have, become integer arithmetic.
  }];
  let options = [
    Option<"polynomials", "polynomials", "bool", "true", "expand functions; else only conversions">,
    Option<"ldexp", "ldexp", "bool", "false",
           "use llvm.intr.ldexp, for which the target has an instruction (AVX-512)">,
    Option<"roundBf16", "round-bf16", "bool", "false",
           "round to bf16 by the target's instruction (AVX512-BF16), which takes numbers below 2^-126 as zero">,
  ];
}

def ConvertKernels : Pass<"ingot-convert-kernels", "::mlir::ModuleOp"> {
  let summary = "converts kernel functions to the LLVM dialect";
  let description = [{
    Memory becomes bare pointers; what no LLVM intrinsic computes is called from the C
    library. Steps are left for `--ingot-lower-steps`.
  }];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect"
  ];
}

def LowerSteps : Pass<"ingot-lower-steps", "::mlir::ModuleOp"> {
  let summary = "turns steps and kernel entries into LLVM code and `ingot_module`";
  let description = [{
    Assumes kernels in the LLVM dialect. A step becomes a function of the context and the two
    blocks; each call a constant descriptor and a call of its ABI entry. Defines
    `ingot_module` (docs/abi.md) with what the module's attributes hold, the manifest and a device's kernels, and
    references to the blobs that the link adds, the initial values and the export's literal bytes.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // INGOT_PASSES_TARGETS_HOST_PASSES_TD
