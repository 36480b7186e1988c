// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Builds GPU functions: their threads, loops and exchanges (header private to
// this target).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_KERNELS_DEVICEFUNCTION_H
#define INGOT_PASSES_TARGETS_CUDA_KERNELS_DEVICEFUNCTION_H

#include "dialects/ingot/builders/Scalars.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace ingot::codegen {

/// The number of threads in a warp, within which shuffles work.
constexpr int64_t kWarp = 32;
/// The number of threads per block: eight warps keep a multiprocessor busy at
/// any register count that ptxas may choose for them.
constexpr int64_t kBlock = 256;
/// The bytes of shared memory per block that kernels stay within, so that eight
/// blocks fit on a multiprocessor; ptxas refuses more than twice as many.
constexpr int64_t kMaxShared = 24 << 10;

/// One launch of a GPU function of `inputs` and `outputs`.
struct DeviceLaunch {
  mlir::StringAttr function;
  int64_t grid = 1;
  /// The threads of a block.
  int64_t block = kBlock;
  /// The bytes of shared memory per block.
  int64_t shared = 0;
  /// Whether the result does not depend on the number of blocks.
  bool anyGrid = false;
};

/// Emits functions at the end of a `gpu.module`, one after the other.
class DeviceFunctionBuilder {
protected:
  DeviceFunctionBuilder(mlir::gpu::GPUModuleOp module, mlir::Location loc)
      : module(module), builder(module.getContext()), loc(loc) {}

  /// Begins a function of buffers and of the range of iterations that it
  /// executes.
  void startFunction(const llvm::Twine &name, mlir::TypeRange types,
                     bool withRange);
  DeviceLaunch finishFunction(int64_t grid, bool anyGrid = false,
                              int64_t block = kBlock);
  /// Adds shared memory to the function.
  mlir::Value addShared(int64_t count, mlir::Type type);

  mlir::Value threadInBlock();
  mlir::Value block();
  /// Returns the index of the thread among all threads.
  mlir::Value thread();
  /// Returns the number of threads of the launch.
  mlir::Value countThreads();
  void synchronizeBlock();
  /// Returns the value that the lane at `distance` in the warp holds.
  mlir::Value shuffleXor(mlir::Value value, int64_t distance);
  /// Returns the sum of one `i32` per thread of the block, and that of the
  /// threads before this one. All threads of the block call it; `shared` has
  /// an `i32` for each warp.
  std::pair<mlir::Value, mlir::Value> sumBlock(mlir::Value value,
                                               mlir::Value shared);
  /// Returns the begin and the end of the function's range.
  std::pair<mlir::Value, mlir::Value> getBounds();

  mlir::Value load(mlir::Value buffer, mlir::ValueRange at);
  void store(mlir::Value value, mlir::Value buffer, mlir::ValueRange at);

  ScalarEmitter scalars() { return {builder, loc}; }
  void forEach(mlir::Value from, mlir::Value to, mlir::Value step,
               llvm::function_ref<void(mlir::Value)> emitBody);
  void forEach(mlir::Value from, mlir::Value to, int64_t step,
               llvm::function_ref<void(mlir::Value)> emitBody) {
    forEach(from, to, scalars().index(step), emitBody);
  }
  /// Emits a loop that carries sums; `emitBody` returns the next ones. `unroll`
  /// iterations have all their loads in flight at once.
  llvm::SmallVector<mlir::Value>
  fold(mlir::Value from, mlir::Value to, int64_t step, mlir::ValueRange initial,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                         mlir::ValueRange)>
           emitBody,
       int64_t unroll = 1);
  void onlyIf(mlir::Value condition, llvm::function_ref<void()> emitBody);

  mlir::gpu::GPUModuleOp module;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::gpu::GPUFuncOp function;
  llvm::SmallVector<mlir::Value> buffers;
  /// Whether the function takes a range.
  bool takesRange = false;
  /// The innermost loop of the function over elements.
  mlir::scf::ForOp elementLoop;
};

} // namespace ingot::codegen

#endif // INGOT_PASSES_TARGETS_CUDA_KERNELS_DEVICEFUNCTION_H
