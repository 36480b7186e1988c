// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Generation of CPU kernels.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CPU_PASSES_TD
#define INGOT_PASSES_TARGETS_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def EmitCpuKernels : Pass<"ingot-emit-cpu-kernels", "::mlir::ModuleOp"> {
  let summary = "lowers `exec.kernel` to functions of loops for CPUs";
  let description = [{
    A kernel becomes a function of its flat buffers and of a range of its parallel extent, which is recorded on the
    launches of the kernel. Trailing dimensions are collapsed into one loop as long as no index has to be
    delinearized, so that the vectorizer sees unit strides. Loop kernels compute one element of every result per
    iteration and store after all are computed, so that results may share memory with inputs. Reductions run along the
    innermost dimension if it is reduced; otherwise they keep a strip of accumulators and run across it. Row kernels
    traverse a row in several passes, one per reduction that depends on another; values that are expensive to compute
    are kept on the stack between passes. Epilogue kernels process a range of rows and a range of columns of a library
    call's result, and have no launch. The order of a sum never depends on the number of threads.

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
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
}

def PrefetchStreams : Pass<"ingot-prefetch-streams", "::mlir::func::FuncOp"> {
  let summary = "inserts software prefetch into loops that stream from memory";
  let description = [{
    Innermost loops are split into pieces, each of which prefetches the cache lines of the next piece, for every buffer
    that is accessed with unit stride; a loop shorter than a piece prefetches the lines of later iterations of the loop
    around it. The pass does not apply to kernels over few bytes, which stay in the caches, to loops over more than
    three buffers, which keep memory busy by themselves, and to functions that contain prefetches already, such as
    epilogues, whose next row is not contiguous. On processors that prefetch as well by themselves (AMD's Zen) it
    applies only to a loop over a row that a loop before it has read: that loop leaves memory idle. Values do not
    change, except for the order in which a sum over a row is accumulated.

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
           "smallest size of all buffers of a kernel, in bytes, for prefetch; "
           "a single buffer has at least a sixteenth of it">,
    Option<"piece", "piece", "int64_t", "512", "iterations per piece">,
    Option<"mostStreams", "most-streams", "int64_t", "3",
           "most buffers of a loop; 0: the processor prefetches by itself">,
  ];
  let statistics = [Statistic<"numStreams", "streams", "buffers that are prefetched">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
}

def StreamStores : Pass<"ingot-stream-stores", "::mlir::func::FuncOp"> {
  let summary = "stores large results past the caches, with non-temporal stores";
  let description = [{
    A processor reads a line from memory before it writes to a part of it, which is a third of the bytes of a kernel
    with one operand. Innermost loops that fill a buffer in order, which the kernel does not read and which is larger
    than the caches, write pieces of it to a buffer on the stack; vectors of one line then copy these to memory without
    reading it, and without displacing other data from the caches. The elements before the first and after the last
    whole line are stored as usual. A fence at the end of the function orders these stores before all later ones.
    Values do not change, except for the order in which a sum over the loop is accumulated.

    Before:
    ```mlir
    scf.for %i = %begin to %end step %c1 {
      %0 = memref.load %x[%i] : memref<100000000xf32>
      memref.store %0, %y[%i] : memref<100000000xf32>
    }
    ```
    After:
    ```mlir
    scf.for %p = %begin to %end step %c2048 {
      %to = arith.minsi ... : index
      scf.for %i = %p to %to step %c1 {
        %0 = memref.load %x[%i] : memref<100000000xf32>
        %1 = arith.subi %i, %p : index
        memref.store %0, %staged[%1] : memref<2048xf32>
      }
      ...
      scf.for %j = %head to %tail step %c16 {
        %2 = vector.load %staged[%j] : memref<2048xf32>, vector<16xf32>
        %3 = arith.addi %p, %j : index
        vector.store %2, %y[%3] {alignment = 64, nontemporal = true} : memref<100000000xf32>, vector<16xf32>
      }
      ...
    }
    llvm.fence seq_cst
    ```
  }];
  let options = [
    Option<"leastBytes", "least-bytes", "int64_t", "67108864",
           "smallest buffer, in bytes: larger than the last-level cache, where the next kernel would find it">,
    Option<"pieceBytes", "piece-bytes", "int64_t", "8192", "bytes on the stack">,
  ];
  let statistics = [Statistic<"numStores", "stores", "stores that are streamed">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

#endif // INGOT_PASSES_TARGETS_CPU_PASSES_TD
