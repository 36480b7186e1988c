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
    shared memory, in tiles of 32 x 32 elements. A bucket with a code is exchanged as messages, which kernels make and add up. What would
    leave the device idle is split: partial sums go to memory behind the planned arena, and a
    second launch adds them. The order of every sum is fixed: results are the same from run to
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
    Option<"threads", "threads", "int64_t", "1 << 17",
           "how many threads fill the device: 132 multiprocessors of 1024 by default">,
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

#endif // INGOT_PASSES_TARGETS_CUDA_PASSES_TD
