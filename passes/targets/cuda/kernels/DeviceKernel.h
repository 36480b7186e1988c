// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Generates the GPU functions of one kernel (header private to this target).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_KERNELS_DEVICEKERNEL_H
#define INGOT_PASSES_TARGETS_CUDA_KERNELS_DEVICEKERNEL_H

#include "dialects/exec/Exec.h"
#include "passes/codegen/ElementEmitter.h"
#include "passes/codegen/ReductionSpace.h"
#include "passes/targets/cuda/kernels/DeviceFunction.h"

namespace ingot::codegen {

/// The launches that a kernel becomes.
struct DeviceKernel {
  /// The main launch, which reads the kernel's inputs and writes its outputs,
  /// or `partials`.
  DeviceLaunch main;
  /// The launch that sums `partials` into the outputs; empty if there are none.
  std::optional<DeviceLaunch> finish;
  llvm::SmallVector<mlir::MemRefType> partials;
  /// The number of elements, of which `main` processes a range; 0 if it
  /// processes all.
  int64_t extent = 0;
  /// The outputs that `finish` writes, where `main` writes the others; none
  /// where it writes all.
  llvm::SmallVector<unsigned> finished = {};
};

/// Emits the GPU functions of a kernel.
class DeviceKernelBuilder : DeviceFunctionBuilder {
public:
  /// Creates a builder. `threads` is the number of threads that occupy the GPU:
  /// with less work, a thread processes one element, and sums are split. If
  /// `rangeUnit` is not 0, the kernel processes elements of a range whose
  /// bounds are multiples of it, or the end: a loop over elements, or a
  /// reduction of all of them.
  DeviceKernelBuilder(exec::KernelOp kernel, mlir::gpu::GPUModuleOp module,
                      int64_t threads, int64_t rangeUnit = 0)
      : DeviceFunctionBuilder(module, kernel.getLoc()), kernel(kernel),
        body(kernel.getBody().front()), threads(threads), rangeUnit(rangeUnit) {
  }

  /// Makes the function a part of another one, of which it gets the given
  /// number of blocks and no shared memory.
  DeviceKernelBuilder &asPart() {
    isPart = true;
    return *this;
  }

  DeviceKernel build();

private:
  friend class DeviceMatrix;
  friend class DeviceRows;
  friend class DeviceScatter;
  using Indices = llvm::SmallVector<mlir::Value>;
  mlir::Value countThreads(int64_t grid);
  DeviceKernel emitLoop();
  /// Emits the kernel with shared memory for transposed inputs; nothing if no
  /// input is read transposed.
  std::optional<DeviceKernel> emitTiles();
  DeviceKernel emitAlong(const ReductionSpace &space);
  DeviceKernel emitAcross(const ReductionSpace &space);
  DeviceKernel emitRows();
  /// Emits the sums of the rows that blocks have added up, one partial row for
  /// each of `blocks`.
  DeviceLaunch emitRowSums(llvm::ArrayRef<Reduction> roots, int64_t blocks,
                           mlir::TypeRange partials, mlir::TypeRange written);
  DeviceKernel emitMatrix();
  DeviceKernel emitCustom();
  DeviceKernel emitScatter(ScatterAddOp scatter);
  DeviceKernel emitGroup();
  void emitFinish(const ReductionSpace &space, int64_t pieces,
                  DeviceKernel &result);

  /// Begins a function of the kernel's inputs and `written`.
  void createFunction(llvm::StringRef suffix, mlir::TypeRange read,
                      mlir::TypeRange written, bool hasAliases);
  /// Returns the types of the buffers that reductions write: outputs, or
  /// partial sums.
  llvm::SmallVector<mlir::Type> resultTypes();
  llvm::SmallVector<mlir::Type> inputTypes();
  /// Emits a function whose threads process elements of `shape`, `perThread` of
  /// them each, in groups of 16 bytes: as parts of one position or, where that
  /// would divide indices, along the innermost dimension.
  void emitLanes(llvm::ArrayRef<int64_t> shape, mlir::TypeRange types,
                 int64_t perThread,
                 llvm::function_ref<void(int64_t lanes)> emit);
  /// Returns the indices of the elements from `start` on.
  llvm::SmallVector<Indices> lanesAt(mlir::Value start, int64_t lanes,
                                     llvm::ArrayRef<int64_t> shape);

  /// Emits the sums over all lanes of a warp, which every lane receives.
  void sumWarp(llvm::ArrayRef<Reduction> roots,
               llvm::SmallVectorImpl<mlir::Value> &sums);
  /// Returns the accumulators of all roots, one after the other.
  llvm::SmallVector<mlir::Value> identities(llvm::ArrayRef<Reduction> roots);
  /// Emits the accumulators after one more element of each root.
  llvm::SmallVector<mlir::Value> accumulate(llvm::ArrayRef<Reduction> roots,
                                            mlir::ValueRange accumulators,
                                            mlir::ValueRange elements);
  /// Emits the partial results of all roots, one after the other, of what a
  /// loop has accumulated.
  llvm::SmallVector<mlir::Value> getPartials(llvm::ArrayRef<Reduction> roots,
                                             mlir::ValueRange accumulators);
  /// Emits the partial results of the elements of two.
  llvm::SmallVector<mlir::Value> combine(llvm::ArrayRef<Reduction> roots,
                                         mlir::ValueRange sums,
                                         mlir::ValueRange others);
  /// Adds shared memory for `count` partial results of each root.
  llvm::SmallVector<mlir::Value> sharedSums(llvm::ArrayRef<Reduction> roots,
                                            int64_t count);
  /// Stores partial results, or what follows from them where the function
  /// writes the outputs of the kernel.
  void store(llvm::ArrayRef<Reduction> roots, mlir::ValueRange sums,
             mlir::Value position, bool isPartial);
  void storeShared(mlir::ValueRange sums, mlir::ValueRange shared,
                   mlir::Value position);
  llvm::SmallVector<mlir::Value> loadShared(mlir::ValueRange shared,
                                            mlir::Value position);

  mlir::ValueRange outputs() {
    return mlir::ValueRange(buffers).drop_front(numRead);
  }
  mlir::Operation *yield() { return body.getTerminator(); }
  ElementEmitter elements() {
    return ElementEmitter(kernel, builder,
                          mlir::ValueRange(buffers).take_front(numRead));
  }
  /// Returns the begin and end of the elements to process, of `count` ones, in
  /// units of `lanes`.
  std::pair<mlir::Value, mlir::Value> range(int64_t count, int64_t lanes = 1);

  exec::KernelOp kernel;
  mlir::Block &body;
  int64_t threads, rangeUnit;
  bool isPart = false;
  size_t numRead = 0;
  /// Whether the lanes of a thread are parts of one linear position.
  bool linear = true;
};

} // namespace ingot::codegen

#endif // INGOT_PASSES_TARGETS_CUDA_KERNELS_DEVICEKERNEL_H
