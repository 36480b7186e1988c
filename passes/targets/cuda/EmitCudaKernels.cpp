//===----------------------------------------------------------------------===//
// Kernels into device functions, launches into grids.
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "dialects/ingot/builders/Builders.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/targets/cuda/MessageExchange.h"
#include "passes/targets/cuda/Passes.h"
#include "passes/targets/cuda/kernels/DeviceKernel.h"
#include "runtime/abi/Abi.h"

#include <numeric>

namespace ingot {
#define GEN_PASS_DEF_EMITCUDAKERNELS
#include "passes/targets/cuda/Passes.h.inc"
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
    for (auto sum : llvm::to_vector(findAll<exec::ShardSquareSumOp>(module)))
      generateSum(sum);
    llvm::DenseMap<StringAttr, int64_t> units = findRangeUnits(module);
    llvm::DenseMap<StringAttr, DeviceKernel> kernels;
    for (auto kernel :
         llvm::make_early_inc_range(module.getOps<exec::KernelOp>())) {
      StringAttr name = kernel.getSymNameAttr();
      int64_t unit = units.lookup(name);
      DeviceKernel built =
          DeviceKernelBuilder(kernel, device, threads, unit).build();
      if (unit != 0 && built.extent == 0) {
        kernel.emitOpError("is not a loop over the elements of shards");
        return signalPassFailure();
      }
      numKernels += built.finish ? 2 : 1;
      kernels[name] = std::move(built);
      kernel.erase();
    }
    MessageExchange messages(module, device);
    for (auto step : module.getOps<func::FuncOp>()) {
      if (!step->hasAttr("exec.arena_bytes"))
        continue;
      StepLaunches launches(step);
      messages.lower(step, launches);
      step.walk([&](exec::LaunchOp launch) {
        lowerLaunch(launch,
                    kernels.find(launch.getKernelAttr().getAttr())->second,
                    launches);
      });
      step.walk([&](exec::MatmulEpilogueOp product) {
        auto find = [&](FlatSymbolRefAttr name) {
          return name ? &kernels.find(name.getAttr())->second : nullptr;
        };
        lowerProduct(product, find(product.getKernelAttr()),
                     find(product.getExtraAttr()), launches);
      });
      launches.finish();
    }
    messages.finish();
    numKernels += messages.countKernels();
  }

private:
  template <typename Op> static SmallVector<Op> findAll(ModuleOp module) {
    SmallVector<Op> found;
    module.walk([&](Op op) { found.push_back(op); });
    return found;
  }

  /// Of the kernels that some launch runs for a shard: what beginnings of
  /// shards, and of tensors in their buckets, are multiples of.
  static llvm::DenseMap<StringAttr, int64_t> findRangeUnits(ModuleOp module) {
    llvm::DenseMap<StringAttr, int64_t> units;
    for (exec::LaunchOp launch : findAll<exec::LaunchOp>(module))
      if (std::optional<ArrayRef<int64_t>> shard = launch.getShard()) {
        int64_t &unit = units[launch.getKernelAttr().getAttr()];
        unit = std::gcd(std::gcd<int64_t>(unit, INGOT_SHARD_ELEMENTS),
                        (*shard)[0]);
      }
    return units;
  }

  /// A kernel in place of the library call: squares in double, added up.
  void generateSum(exec::ShardSquareSumOp sum) {
    auto buffer = cast<MemRefType>(sum.getInput().getType());
    auto type =
        RankedTensorType::get(buffer.getShape(), buffer.getElementType());
    StringAttr &name = sums[type];
    if (!name) {
      OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
      name = builder.getStringAttr("shard_square_sum_" +
                                   std::to_string(sums.size() - 1));
      auto kernel = exec::KernelOp::create(
          builder, sum.getLoc(), name,
          builder.getStringAttr(stringifyFusionKind(FusionKind::Reduction)),
          builder.getDenseI64ArrayAttr({-1}));
      Block *body =
          builder.createBlock(&kernel.getBody(), {}, type, {sum.getLoc()});
      Value x = castTo(builder, sum.getLoc(), body->getArgument(0),
                       builder.getF64Type());
      Value square = MulOp::create(builder, sum.getLoc(), x.getType(), x, x);
      Value total =
          sumOver(builder, sum.getLoc(), square,
                  llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())));
      YieldOp::create(builder, sum.getLoc(), total);
    }
    OpBuilder builder(sum);
    exec::LaunchOp::create(
        builder, sum.getLoc(), name, sum.getInput(), sum.getResult(),
        /*flops=*/2 * type.getNumElements(), /*bytes=*/IntegerAttr(),
        /*extent=*/0, /*grain=*/0,
        builder.getDenseI64ArrayAttr({static_cast<int64_t>(sum.getFirst()),
                                      static_cast<int64_t>(sum.getOf())}));
    sum.erase();
  }

  void lowerLaunch(exec::LaunchOp launch, const DeviceKernel &kernel,
                   StepLaunches &launches) {
    OpBuilder builder(launch);
    Location loc = launch.getLoc();
    // All split sums of a step use the same memory, one after the other.
    SmallVector<Value> partials = launches.lend(builder, loc, kernel.partials);
    ValueRange outputs = launch.getOutputs();
    exec::LaunchGridOp main =
        StepLaunches::launch(builder, loc, kernel.main, launch.getInputs(),
                             kernel.finish ? ValueRange(partials) : outputs);
    main.setFlops(launch.getFlops());
    main.setBytesAttr(launch.getBytesAttr());
    main.setExtent(kernel.extent);
    main.setShardAttr(launch.getShardAttr());
    if (kernel.finish)
      StepLaunches::launch(builder, loc, *kernel.finish, partials, outputs);
    launch.erase();
  }

  /// `finish` and `extra` may be null.
  void lowerProduct(exec::MatmulEpilogueOp product, const DeviceKernel *finish,
                    const DeviceKernel *extra, StepLaunches &launches) {
    OpBuilder builder(product);
    auto describe = [&](const DeviceLaunch &grid) {
      return exec::GridAttr::get(&getContext(),
                                 StepLaunches::getSymbol(builder, grid),
                                 grid.grid, kBlock, grid.shared);
    };
    SmallVector<Value> partials;
    SmallVector<Attribute> extras;
    DenseI64ArrayAttr library = product.getLibraryAttr();
    if (extra) {
      extras.push_back(describe(extra->main));
      if (extra->finish)
        extras.push_back(describe(*extra->finish));
      partials = launches.lend(builder, product.getLoc(), extra->partials);
      // The extra output is behind them.
      SmallVector<int64_t> numbers(library.asArrayRef());
      numbers.back() += static_cast<int64_t>(partials.size());
      if (!partials.empty())
        library = builder.getDenseI64ArrayAttr(numbers);
    }
    auto call = exec::MatmulEpilogueGridOp::create(
        builder, product.getLoc(), product.getLhs(), product.getRhs(),
        finish ? describe(finish->main) : exec::GridAttr(), product.getInputs(),
        product.getOutputs(),
        extras.empty() ? ArrayAttr() : builder.getArrayAttr(extras),
        product.getExtraInputs(), partials, product.getExtraOutput(),
        product.getProduct(), product.getScratch(), product.getTransposeLhs(),
        product.getTransposeRhs(), product.getOnTiles(), product.getFlops(),
        library);
    call->setDiscardableAttrs(product->getDiscardableAttrDictionary());
    product.erase();
  }

  /// The kernels of sums of squares, by what they read.
  llvm::DenseMap<Type, StringAttr> sums;
};

} // namespace
