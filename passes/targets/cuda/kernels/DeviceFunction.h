//===----------------------------------------------------------------------===//
//
// Builds device functions: their threads, loops and exchanges (header private
// to this target).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_KERNELS_DEVICEFUNCTION_H
#define INGOT_PASSES_TARGETS_CUDA_KERNELS_DEVICEFUNCTION_H

#include "dialects/ingot/builders/Scalars.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace ingot::codegen {

/// Threads of a warp, which shuffles work within.
constexpr int64_t kWarp = 32;
/// Threads of every block: eight warps keep a multiprocessor busy at any
/// register count that ptxas may choose for them.
constexpr int64_t kBlock = 256;

/// One launch: a device function of `inputs` and `outputs`.
struct DeviceLaunch {
  mlir::StringAttr function;
  int64_t grid = 1;
  /// Bytes of memory that a block's threads share.
  int64_t shared = 0;
  /// Whether any number of blocks computes the same.
  bool anyGrid = false;
};

/// Emits functions at the end of a `gpu.module`, one after the other.
class DeviceFunctionBuilder {
protected:
  DeviceFunctionBuilder(mlir::gpu::GPUModuleOp module, mlir::Location loc)
      : module(module), builder(module.getContext()), loc(loc) {}

  /// A function of buffers and, behind them, of the range that it runs.
  void startFunction(const llvm::Twine &name, mlir::TypeRange types,
                     bool withRange);
  DeviceLaunch finishFunction(int64_t grid, bool anyGrid = false);
  /// Memory that the threads of a block share.
  mlir::Value addShared(int64_t count, mlir::Type type);

  mlir::Value threadInBlock();
  mlir::Value block();
  /// Returns the thread's place among all threads.
  mlir::Value thread();
  /// Returns how many threads there are, as the kernel is launched.
  mlir::Value countThreads();
  void synchronizeBlock();
  /// Returns the value that the lane at `distance` in the warp holds.
  mlir::Value shuffleXor(mlir::Value value, int64_t distance);
  /// Returns the first of the function's range, and the one behind the last.
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
  /// Returns a loop that carries sums; `emitBody` returns the next ones. Of
  /// `unroll` iterations all reads are under way at once.
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
  /// The innermost loop over elements of the function.
  mlir::scf::ForOp elementLoop;
};

} // namespace ingot::codegen

#endif // INGOT_PASSES_TARGETS_CUDA_KERNELS_DEVICEFUNCTION_H
