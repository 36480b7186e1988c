// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Legalization and generation of kernels for CUDA GPUs.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_PASSES_TD
#define INGOT_PASSES_TARGETS_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def EmitCudaKernels : Pass<"ingot-emit-cuda-kernels", "::mlir::ModuleOp"> {
  let summary = "lowers `exec.kernel` to GPU functions";
  let description = [{
    All kernels become functions of one `gpu.module`, and each `exec.launch` becomes an `exec.launch_grid` (two for a
    sum that is split over the GPU). Adjacent threads process adjacent elements, 16 bytes at a time where there is
    enough work.

    Sums along the innermost dimension are computed by a warp or a block, whose threads exchange values by shuffles
    and shared memory; sums across it by the rows of a block of 32 columns. Inputs that are read transposed are staged
    in shared memory, in tiles of 32 x 32 elements. A compressed bucket is exchanged as payloads, which kernels encode
    and sum. A sum that would leave the GPU idle is split: partial sums go to the launch's `scratch`, which is planned
    for them (`Target::getScratchBytes`), and a second launch sums them. The order of every sum is fixed: results are
    the same from run to run.

    A matmul whose epilogue is none of the library's (an `exec.matmul_epilogue` without `library`) becomes one function
    with its epilogue, and an `exec.matmul_grid`: for sm_90a, by its tensor cores and tensor memory accelerator.

    Before:
    ```mlir
    exec.kernel "loop" @kernel_0 aliases = [-1] {
    ^bb0(%x: tensor<8xf32>):
      %0 = ingot.exp %x : tensor<8xf32>
      ingot.yield %0 : tensor<8xf32>
    }
    ```
    After:
    ```mlir
    gpu.module @device {
      gpu.func @kernel_0(%x: memref<8xf32>, %y: memref<8xf32>) kernel {
        %block = gpu.block_id x
        %thread = gpu.thread_id x
        ...
        scf.for %i = %position to %c8 step %c256 {
          %0 = memref.load %x[%i] : memref<8xf32>
          %1 = math.exp %0 : f32
          memref.store %1, %y[%i] : memref<8xf32>
        }
        gpu.return
      }
    }
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", "0",
           "number of threads that occupy the GPU; 0 for that of the module's machine">,
  ];
  let statistics = [Statistic<"numKernels", "kernels", "GPU functions emitted">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"
  ];
}

def SplitMaskedLoops : Pass<"ingot-split-masked-loops", "::mlir::gpu::GPUFuncOp"> {
  let summary = "masks elements beyond the end of a loop only in its last iterations";
  let description = [{
    A loop whose index, plus a constant, is compared with a constant that few iterations reach becomes two: one up to
    there, where the comparisons are true, and one for the rest. Each thread processes the same elements in the same
    order. Logits that are padded to a multiple of 64 are such a case: without masks, their roundings also come in
    pairs. Assumes canonical code, in which sums have their constants on the right.

    Before:
    ```mlir
    scf.for %i = %begin to %c50304 step %c8192 {
      %0 = arith.cmpi slt, %i, %c50257 : index
      ...
    }
    ```
    After:
    ```mlir
    scf.for %i = %begin to %c50257 step %c8192 {
      ...
    }
    %rest = ... // the first index from 50257 on
    scf.for %i = %rest to %c50304 step %c8192 {
      %0 = arith.cmpi slt, %i, %c50257 : index
      ...
    }
    ```
  }];
  let options = [
    Option<"leastIterations", "least-iterations", "int64_t", "2",
           "least number of iterations without masks, of the first thread">,
  ];
  let statistics = [Statistic<"numSplit", "split", "loops split">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ConvertDeviceKernels : Pass<"ingot-convert-device-kernels", "::mlir::gpu::GPUModuleOp"> {
  let summary = "converts GPU functions to the LLVM and NVVM dialects";
  let description = [{
    Memrefs become bare pointers; indices have 32 bits where every buffer of a function has fewer than 2^31 elements.
    Functions without an instruction are called from NVIDIA's libdevice.
  }];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::cf::ControlFlowDialect"
  ];
}

def LegalizeAttention : Pass<"ingot-legalize-attention", "::mlir::func::FuncOp"> {
  let summary = "rewrites attention into the form that cuDNN supports: a bias instead of masks, a seed per step";
  let description = [{
    cuDNN's kernel supports a bias but no mask. Masks become terms of the bias that are so low that weights are 0.
    Results of fully masked rows are replaced by 0, and so are the cotangents that reach them. Key sequence lengths
    are kept, at least 1. Dropout uses cuDNN's own random number generator, which gets a seed for each attention and
    step: 48 bits of the first numbers of Ingot's generator. Assumes formed attention (`--ingot-form-attention`) and
    no gradients.

    Before:
    ```mlir
    %result, %lse = ingot.attention %q, %k, %v mask %m {scale = 0.125 : f64} : ...
    ```
    After:
    ```mlir
    %bias = ingot.select %m, %zeros, %low : tensor<2x1x8x8xi1>, tensor<2x1x8x8xf32>
    %all, %lse = ingot.attention %q, %k, %v bias %bias {scale = 0.125 : f64} : ...
    %result = ingot.select %attends, %all, %zero : ...
    ```
  }];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def RoundEpilogues : Pass<"ingot-round-epilogues", "::mlir::func::FuncOp"> {
  let summary = "inserts the roundings that cuBLASLt epilogues perform";
  let description = [{
    The epilogues of cuBLASLt on 16-bit matmuls have a bias of the same type, write the pre-activation in that type
    too, and compute the gradient of a bias as a sum over an operand of the matmul that computes the gradient of the
    weight. So where ReLU, tanh GELU, or only a bias follows a matmul and the result is rounded to its type, the bias
    is rounded, the derivative of ReLU is computed from the rounded result, and all other readers of the
    pre-activation of GELU read it rounded. An f32 sum over the inner dimension of a matmul whose operand is rounded
    from the summand is computed from that operand. PyTorch's autocast rounds in the same places. Other sums, such as
    with a residual in f32, are not rounded. Assumes assigned precision (`--ingot-assign-precision`).

    Before:
    ```mlir
    %0 = ingot.cast %p : tensor<4x8xbf16> -> tensor<4x8xf32>
    %1 = ingot.broadcast %b dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
    %2 = ingot.add %0, %1 : tensor<4x8xf32>
    %3 = ingot.cast %2 : tensor<4x8xf32> -> tensor<4x8xbf16>
    ```
    After:
    ```mlir
    %0 = ingot.cast %p : tensor<4x8xbf16> -> tensor<4x8xf32>
    %r = ingot.cast %b : tensor<8xf32> -> tensor<8xbf16>
    %w = ingot.cast %r : tensor<8xbf16> -> tensor<8xf32>
    %1 = ingot.broadcast %w dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
    %2 = ingot.add %0, %1 : tensor<4x8xf32>
    %3 = ingot.cast %2 : tensor<4x8xf32> -> tensor<4x8xbf16>
    ```
  }];
  let options = [
    Option<"keepFp32", "keep-fp32", "::ingot::NamePattern", "",
           "regular expression of ONNX nodes around which nothing is rounded">,
  ];
  let statistics = [
    Statistic<"numRounded", "rounded", "epilogues that round">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def PadConvolutions : Pass<"ingot-pad-convolutions", "::mlir::func::FuncOp"> {
  let summary = "pads inputs explicitly where the library's gradient by the filter is wrong";
  let description = [{
    cuDNN 9 computes some gradients by the filters of convolutions in groups wrong where the padding after the input is
    not that before it. `TargetCalls::getSupport` says which; their input is padded by an op until both sides are equal,
    and a remark says why.

    Before:
    ```mlir
    %0 = ingot.conv_filter_grad %dy, %x {groups = 2 : i64, pad_high = array<i64: 1, 1>, pad_low = array<i64: 0, 1>, ...}
      : (tensor<1x4x3x3xf32>, tensor<1x4x3x2xf32>) -> tensor<4x2x2x2xf32>
    ```
    After:
    ```mlir
    %1 = ingot.pad %x low = [0, 0, 0, 0] high = [0, 0, 1, 0] interior = [0, 0, 0, 0] value = 0.0 : ...
    %0 = ingot.conv_filter_grad %dy, %1 {groups = 2 : i64, pad_high = array<i64: 0, 1>, pad_low = array<i64: 0, 1>, ...}
      : (tensor<1x4x3x3xf32>, tensor<1x4x4x2xf32>) -> tensor<4x2x2x2xf32>
    ```
  }];
  let statistics = [
    Statistic<"numPadded", "padded", "gradients whose input is padded">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def FuseConvolutions : Pass<"ingot-fuse-convolutions", "::mlir::func::FuncOp"> {
  let summary = "fuses batch-norm statistics, and the normalization of the input, into cuDNN convolutions";
  let description = [{
    Batch normalization after a convolution sums its result and the squares of the differences from the mean, and the
    next convolution reads the result times a number of its channel, plus another, after ReLU. cuDNN has convolutions
    that compute the sums while they write their result, and that normalize their input while they read it.

    Sums over all but the channels of a convolution's result, or of a polynomial of it of degree two whose
    coefficients are numbers of each channel, are computed from the sums of the result and of its squares, in f64,
    because they cancel. Such a convolution reads `max(y * scale + shift, 0)` as `y`, `scale` and
    `shift` where `y` is the result of a library call, and all readers of the normalized tensor are such convolutions
    and gradients by their filters: it is then never stored. scale and shift are rounded to 16 bits, as the library
    takes them.

    `TargetCalls::getSupport` says which convolutions the library has; a remark says why one is not fused. Assumes
    channels last (`--ingot-choose-layouts`).

    Before:
    ```mlir
    %0 = ingot.conv %y, %w {channels_last, ...} : ... -> tensor<8x4x4x16xf16>
    %1 = ingot.cast %0 : tensor<8x4x4x16xf16> -> tensor<8x4x4x16xf32>
    %2 = ingot.reduce sum %1 dims = [0, 1, 2] : (tensor<8x4x4x16xf32>) -> tensor<16xf32>
    ```
    After:
    ```mlir
    %0, %2, %squares = ingot.conv_statistics %y, %w {channels_last, ...} : ... -> (tensor<8x4x4x16xf16>,
      tensor<16xf32>, tensor<16xf32>)
    ```
  }];
  let statistics = [
    Statistic<"numStatistics", "statistics", "convolutions that compute sums of their result">,
    Statistic<"numNormalized", "normalized", "normalized tensors that are not stored">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def PackSigns : Pass<"ingot-pack-signs", "::mlir::func::FuncOp"> {
  let summary = "stores the bit mask of ReLU for the cuBLASLt epilogues of its gradient";
  let description = [{
    cuBLASLt can multiply the result of a matmul by the derivative of ReLU, which it reads as a bit mask. So where ReLU
    follows a matmul, and its derivative masks another matmul with the same number of columns, the comparison goes
    through `pack_bits`, whose rows have a multiple of 128 bits. A kernel writes the mask: what the library's own ReLU
    can write has a derivative of 1 at 0. Assumes that the derivative is computed from the stored result
    (`--ingot-round-epilogues`).

    Before:
    ```mlir
    %0 = ingot.matmul %a, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %1 = ingot.max %0, %zero : tensor<4x16xf32>
    %2 = ingot.matmul %g, %v : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %3 = ingot.compare gt %1, %zero : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
    %4 = ingot.select %3, %2, %zero : tensor<4x16xi1>, tensor<4x16xf32>
    ```
    After:
    ```mlir
    %0 = ingot.matmul %a, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %1 = ingot.max %0, %zero : tensor<4x16xf32>
    %2 = ingot.matmul %g, %v : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %3 = ingot.compare gt %1, %zero : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
    %s = ingot.pack_bits %3 : tensor<4x16xi1> -> tensor<4x16xui8>
    %u = ingot.unpack_bits %s : tensor<4x16xui8> -> tensor<4x16xi1>
    %4 = ingot.select %u, %2, %zero : tensor<4x16xi1>, tensor<4x16xf32>
    ```
  }];
  let statistics = [
    Statistic<"numPacked", "packed", "ReLU ops whose bit mask is stored">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

#endif // INGOT_PASSES_TARGETS_CUDA_PASSES_TD
