//===----------------------------------------------------------------------===//
//
// Kernels for CPUs.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CPU_PASSES_TD
#define INGOT_PASSES_TARGETS_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def EmitCpuKernels : Pass<"ingot-emit-cpu-kernels", "::mlir::ModuleOp"> {
  let summary = "turns `exec.kernel` into functions of loops";
  let description = [{
    A kernel becomes a function of its flat buffers and a range of its parallel
    extent, which the launches of the kernel learn. Trailing dimensions are one loop as
    far as no index has to be taken apart again, so that the vectorizer sees unit strides.
    Loop kernels compute an element of every result per iteration and store after all
    are computed, so results may share inputs' memory. Reductions run along the innermost dimension if it is
    folded away; else they keep a strip of accumulators and run across it. Row kernels
    go over a row in passes, one per reduction that waits for another; what takes long to compute is kept
    on the stack between passes. Epilogue kernels go over a range of rows and one of columns of a
    library call's result, and no launch has them. The order of
    a sum never depends on the number of threads.

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
    func.func private @kernel_0(%x: memref<8xf32>, %y: memref<8xf32>, %begin: index, %end: index) {
      scf.for %i = %begin to %end step %c1 {
        %0 = memref.load %x[%i] : memref<8xf32>
        %1 = math.exp %0 : f32
        memref.store %1, %y[%i] : memref<8xf32>
      }
      return
    }
    ```
  }];
  let statistics = [Statistic<"numKernels", "kernels", "kernels emitted">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def PrefetchStreams : Pass<"ingot-prefetch-streams", "::mlir::func::FuncOp"> {
  let summary = "lets loops over more than the caches hold ask for what they will touch";
  let description = [{
    Innermost loops run in pieces, and each asks for the lines that the next one will touch, of
    every buffer along which it moves by one element; loops shorter than a piece ask for what later rounds of the
    loop around them will. Kernels of fewer bytes are left alone, what is in the caches needs no asking, and so are loops
    over more than three buffers, which keep memory busy by themselves, and functions that ask already: an epilogue's
    next row is elsewhere. Values do not change, but for the order in which a sum over a row adds up.

    Before:
    ```mlir
    scf.for %i = %begin to %end step %c1 {
      %0 = memref.load %x[%i] : memref<1000000xf32>
      %1 = arith.mulf %0, %0 : f32
      memref.store %1, %x[%i] : memref<1000000xf32>
    }
    ```
    After:
    ```mlir
    scf.for %p = %begin to %end step %c512 {
      %0 = arith.addi %p, %c512 : index
      %1 = arith.minsi %0, %end : index
      scf.for %i = %p to %1 step %c16 {
        %2 = arith.addi %i, %c512 : index
        %3 = arith.minsi %2, %c999999 : index
        memref.prefetch %x[%3], read, locality<3>, data : memref<1000000xf32>
      }
      scf.for %i = %p to %1 step %c1 { ... }
    }
    ```
  }];
  let options = [
    Option<"leastBytes", "least-bytes", "int64_t", "524288",
           "bytes of all of a kernel's buffers, from which on it is treated; of a buffer, a sixteenth">,
    Option<"piece", "piece", "int64_t", "512", "iterations of a piece">,
  ];
  let statistics = [Statistic<"numStreams", "streams", "streams of elements asked for">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
}

#endif // INGOT_PASSES_TARGETS_CPU_PASSES_TD
