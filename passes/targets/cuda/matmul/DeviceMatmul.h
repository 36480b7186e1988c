// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Generates a matmul for sm_90a: a warp loads tiles of the operands by the
// tensor memory accelerator (TMA) into a ring of stages in shared memory, and
// two warpgroups multiply them by `wgmma` and compute the epilogue of their
// sums (header private to this target).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_MATMUL_DEVICEMATMUL_H
#define INGOT_PASSES_TARGETS_CUDA_MATMUL_DEVICEMATMUL_H

#include "dialects/exec/Exec.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/codegen/ElementEmitter.h"
#include "passes/targets/cuda/kernels/DeviceFunction.h"
#include "passes/targets/cuda/matmul/MatmulPlan.h"

namespace ingot::codegen {

/// The attribute of a `gpu.func` that counts its first arguments which are
/// tensor maps.
constexpr llvm::StringLiteral kTensorMapsAttr = "ingot.tensor_maps";
/// The bytes of a tensor map (CUtensorMap), and what they are aligned to.
constexpr int64_t kTensorMapBytes = 128, kTensorMapAlignment = 64;

class DeviceMatmul : DeviceFunctionBuilder {
public:
  /// Creates a builder. `kernel`, of kind `epilogue`, takes the product and
  /// then the inputs; it is null where the result is the product.
  DeviceMatmul(const ingot_matmul_desc &desc, exec::KernelOp kernel,
               const MatmulPlan &plan, mlir::gpu::GPUModuleOp module,
               mlir::Location loc);

  /// Emits a function of two tensor maps, the inputs and the outputs.
  DeviceLaunch emit(const llvm::Twine &name, mlir::TypeRange inputs,
                    mlir::TypeRange outputs, int64_t mostBlocks);

private:
  /// The stage of the ring that is next, and the parity of its round.
  struct Place {
    mlir::Value stage, parity;
  };
  /// A tile of the result.
  struct Tile {
    mlir::Value batch, row, column;
  };
  void initializeBarriers();
  void produce();
  void consume();
  /// Emits a loop over the tiles of this block, which carries the place in the
  /// ring.
  void forEachTile(llvm::function_ref<Place(const Tile &, Place)> emitBody);
  /// Emits a loop over the parts of the inner dimension from `first` on, which
  /// carries that place and `carried`.
  std::pair<Place, mlir::Value>
  forEachPart(int64_t first, Place place, mlir::Value carried,
              llvm::function_ref<mlir::Value(mlir::Value part, Place place,
                                             mlir::Value carried)>
                  emitBody);
  Place advance(Place place);
  void load(unsigned map, mlir::Value to, mlir::Value barrier,
            mlir::Value inner, mlir::Value outer, mlir::Value batch);
  /// Adds the products of a stage to the sums; where these are null, the
  /// products are the sums.
  mlir::Value multiply(mlir::Value sums, Place place, mlir::Value consumer);
  void finishTile(const Tile &tile, mlir::Value sums);
  void stageChunks(mlir::Value sums, mlir::Value chunk, int64_t first,
                   int64_t count, mlir::Value to);
  void emitElements(const Tile &tile, mlir::Value chunk, mlir::Value staged);

  mlir::Value word(int64_t value);
  mlir::Value toWord(mlir::Value index);
  /// Returns the address at an offset in bytes in shared memory.
  mlir::Value at(mlir::Value bytes);
  mlir::Value at(mlir::Value pointer, mlir::Value bytes);
  mlir::Value getBarrier(bool isFull, mlir::Value stage);
  void waitFor(mlir::Value barrier, mlir::Value parity);
  void syncWarp();
  mlir::Value describeShared(mlir::Value pointer, int64_t leading,
                             int64_t stride);

  ingot_matmul_desc desc;
  exec::KernelOp kernel;
  MatmulPlan plan;
  mlir::LLVM::LLVMPointerType shared, generic;
  mlir::LLVM::LLVMStructType sumsType;
  mlir::Value memory;
  int64_t parts = 0;
};

} // namespace ingot::codegen

#endif // INGOT_PASSES_TARGETS_CUDA_MATMUL_DEVICEMATMUL_H
