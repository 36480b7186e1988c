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
    few CPUs have instructions, become integer arithmetic.
  }];
  let options = [
    Option<"polynomials", "polynomials", "bool", "true", "expand functions; otherwise only conversions">,
    Option<"ldexp", "ldexp", "bool", "false",
           "use llvm.intr.ldexp, for which the CPU has an instruction (AVX-512)">,
    Option<"roundBf16", "round-bf16", "bool", "false",
           "round to bf16 with the instruction of AVX512-BF16, which treats numbers below 2^-126 as zero">,
  ];
}

def ConvertKernels : Pass<"ingot-convert-kernels", "::mlir::ModuleOp"> {
  let summary = "converts kernel functions to the LLVM dialect";
  let description = [{
    Memrefs become bare pointers; functions without an LLVM intrinsic are called from the C library. Steps (functions
    with `exec.arena_bytes`) are left for `--ingot-lower-steps`.
  }];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect"
  ];
}

def LowerSteps : Pass<"ingot-lower-steps", "::mlir::ModuleOp"> {
  let summary = "lowers steps to the LLVM dialect and defines `ingot_module`";
  let description = [{
    Assumes kernels in the LLVM dialect. A step becomes a function of the context and the two memory blocks; each call
    becomes a constant descriptor and a call of its ABI entry point. Defines `ingot_module` (runtime/abi/Abi.h) with
    the manifest and references to the blobs that the link adds: the initial values (`embed-weights`) and the literal
    bytes of the export (`export-bytes`, 0 if there are none).
  }];
  let options = [
    Option<"manifest", "manifest", "std::string", "\"{}\"", "the manifest, JSON">,
    Option<"weightBytes", "weight-bytes", "uint64_t", "0", "size of the embedded weights in bytes; 0 for none">,
    Option<"deviceCode", "device-code", "std::string", "\"\"", "machine code of GPU kernels">,
    Option<"devicePtx", "device-ptx", "std::string", "\"\"", "PTX of GPU kernels">,
    Option<"exportBytes", "export-bytes", "uint64_t", "0", "size of the export's literal bytes; 0 for none">,
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // INGOT_PASSES_TARGETS_HOST_PASSES_TD
