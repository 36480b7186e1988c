//===----------------------------------------------------------------------===//
//
// Kernels for CUDA GPUs.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_PASSES_TD
#define INGOT_PASSES_TARGETS_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def EmitCudaKernels : Pass<"ingot-emit-cuda-kernels", "::mlir::ModuleOp"> {
  let summary = "turns `exec.kernel` into device functions";
  let description = [{
    All kernels become functions of one `gpu.module`, and each `exec.launch` an `exec.launch_grid`
    (two for a sum that is split over the device). Threads take neighbouring elements, 16 bytes at
    a time where there is enough work.

    Sums along the innermost dimension are shared by a warp or a block, which exchange by
    shuffles and shared memory; sums across it by the rows of a block of 32 columns. Inputs that are read transposed come through
    shared memory, in tiles of 32 x 32 elements. A compressed bucket is exchanged as payloads, which kernels encode and sum. A sum that would
    leave the GPU idle is split: partial sums go to the launch's `scratch`, which is planned for them (`Target::getScratchBytes`), and a
    second launch sums them. The order of every sum is fixed: results are the same from run to
    run.

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
           "how many threads fill the GPU; 0 for those of the module's machine">,
  ];
  let statistics = [Statistic<"numKernels", "kernels", "device functions emitted">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def ConvertDeviceKernels : Pass<"ingot-convert-device-kernels", "::mlir::gpu::GPUModuleOp"> {
  let summary = "converts device functions to the LLVM and NVVM dialects";
  let description = [{
    Memory becomes bare pointers, indices 32 bits where every buffer of a function has fewer elements than
    that. What no instruction computes is called from NVIDIA's libdevice.
  }];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::cf::ControlFlowDialect"
  ];
}

def LegalizeAttention : Pass<"ingot-legalize-attention", "::mlir::func::FuncOp"> {
  let summary = "rewrites attention into what cuDNN's kernel takes: a bias instead of masks, a seed for each step";
  let description = [{
    cuDNN's kernel adds a bias and takes no mask. Masks become terms of the bias that are so low that weights are 0,
    and results of queries that attend to no key are replaced by 0, and with them what their gradients come from.
    Lengths stay, at least 1. Dropout is drawn by cuDNN's own generator: it gets a seed for each attention and step,
    48 bits of the numbers that Ingot's generator would begin with. Assumes attention formed
    (`--ingot-form-attention`) and no gradients.

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
  let summary = "rounds what follows products where epilogues of libraries do";
  let description = [{
    Libraries of devices finish a product in half precision with a bias of the same type, and leave what the
    activation was computed from in that type too; the gradient of a bias they add up of what the gradient of the weight is computed from. So where ReLU, GELU by tanh, or nothing but a bias follows a product and the result is rounded
    to its type: the bias is rounded, the derivative of ReLU is taken at the rounded result, and whatever else reads what GELU is computed from reads it
    rounded. A sum of f32 over the inner dimension of a product whose operand is rounded from the same is taken of the operand. Autocast of PyTorch rounds there as well. Other sums, such as with a residual in f32, keep their digits. Assumes precision
    assigned (`--ingot-assign-precision`).

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
    Option<"keepFp32", "keep-fp32", "std::string", "",
           "regular expression of ONNX nodes around which nothing is rounded">,
  ];
  let statistics = [
    Statistic<"numRounded", "rounded", "epilogues that round">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def PackSigns : Pass<"ingot-pack-signs", "::mlir::func::FuncOp"> {
  let summary = "has gradients of ReLU behind products read bits in place of ReLU's results";
  let description = [{
    Libraries of devices leave the signs of what ReLU is computed from as bits, and read such bits where they finish the product that its gradient is
    taken of. So where ReLU follows a product, and its derivative is taken of another, which has as many columns, the comparison goes through
    `pack_bits`, whose rows have a multiple of 128 bits. Assumes that the derivative is taken at the result that is stored
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
    Statistic<"numPacked", "packed", "results of ReLU whose signs are packed">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

#endif // INGOT_PASSES_TARGETS_CUDA_PASSES_TD
