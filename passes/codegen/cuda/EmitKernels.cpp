//===----------------------------------------------------------------------===//
// Kernels into device functions, launches into grids.
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "dialects/ingot/ir/Builders.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/codegen/cuda/DeviceKernel.h"
#include "passes/codegen/cuda/Passes.h"
#include "runtime/abi/Abi.h"

namespace ingot {
#define GEN_PASS_DEF_EMITCUDAKERNELS
#include "passes/codegen/cuda/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace {

struct EmitCudaKernels : ingot::impl::EmitCudaKernelsBase<EmitCudaKernels> {
  using EmitCudaKernelsBase::EmitCudaKernelsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto device =
        gpu::GPUModuleOp::create(builder, module.getLoc(), kDeviceModule);
    llvm::DenseMap<StringAttr, DeviceKernel> kernels;
    for (auto kernel :
         llvm::make_early_inc_range(module.getOps<exec::KernelOp>())) {
      StringAttr name = kernel.getSymNameAttr();
      DeviceKernel built = DeviceKernelBuilder(kernel, device, threads).build();
      numKernels += built.finish ? 2 : 1;
      kernels[name] = std::move(built);
      kernel.erase();
    }
    for (auto step : module.getOps<func::FuncOp>())
      lowerStep(step, kernels);
  }

private:
  static constexpr llvm::StringLiteral kDeviceModule = "device";

  void lowerStep(func::FuncOp step,
                 const llvm::DenseMap<StringAttr, DeviceKernel> &kernels) {
    auto arena = step->getAttrOfType<IntegerAttr>("exec.arena_bytes");
    if (!arena)
      return;
    // All split sums of a step use the same memory, one after the other.
    int64_t base = llvm::alignTo(arena.getInt(), INGOT_ALIGNMENT), end = base;
    step.walk([&](exec::LaunchOp launch) {
      const DeviceKernel &kernel =
          kernels.find(launch.getKernelAttr().getAttr())->second;
      end = std::max(end, lowerLaunch(launch, kernel, base));
    });
    if (end == base)
      return;
    Builder b(&getContext());
    step->setAttr("exec.arena_bytes", b.getI64IntegerAttr(end));
    auto memory = step->getAttrOfType<DictionaryAttr>("exec.memory");
    if (!memory)
      return;
    NamedAttrList parts(memory);
    for (StringRef part : {"peak_bytes", "workspace_bytes"})
      parts.set(part,
                b.getI64IntegerAttr(memory.getAs<IntegerAttr>(part).getInt() +
                                    end - arena.getInt()));
    step->setAttr("exec.memory", parts.getDictionary(&getContext()));
  }

  /// Returns the end of the partial sums, which start at `base`.
  int64_t lowerLaunch(exec::LaunchOp launch, const DeviceKernel &kernel,
                      int64_t base) {
    OpBuilder builder(launch);
    SmallVector<Value> partials;
    for (MemRefType type : kernel.partials) {
      partials.push_back(exec::BufferOp::create(builder, launch.getLoc(), type,
                                                exec::Space::Arena, base));
      base = llvm::alignTo(base + byteSize(type), INGOT_ALIGNMENT);
    }
    ValueRange outputs = launch.getOutputs();
    emitLaunch(launch, kernel.main, launch.getInputs(),
               kernel.finish ? ValueRange(partials) : outputs,
               launch.getFlops(), launch.getBytesAttr(), builder);
    if (kernel.finish)
      emitLaunch(launch, *kernel.finish, partials, outputs, /*flops=*/0,
                 /*bytes=*/{}, builder);
    launch.erase();
    return base;
  }

  void emitLaunch(exec::LaunchOp launch, const DeviceLaunch &grid,
                  ValueRange inputs, ValueRange outputs, int64_t flops,
                  IntegerAttr bytes, OpBuilder &builder) {
    MLIRContext *context = &getContext();
    auto symbol = SymbolRefAttr::get(
        context, kDeviceModule,
        FlatSymbolRefAttr::get(context, grid.function.getValue()));
    exec::LaunchGridOp::create(builder, launch.getLoc(), symbol, inputs,
                               outputs, flops, bytes, grid.grid, kBlock,
                               grid.shared);
  }
};

} // namespace
