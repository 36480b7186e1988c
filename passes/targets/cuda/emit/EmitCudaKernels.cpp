// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// EmitCudaKernels: lowers kernels to GPU functions, and launches to grids.
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/targets/cuda/Passes.h"
#include "passes/targets/cuda/emit/MessageExchange.h"
#include "passes/targets/cuda/kernels/DeviceKernel.h"
#include "passes/targets/cuda/matmul/DeviceMatmul.h"
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
    // The number of threads for which partial sums are planned.
    int64_t filling =
        threads != 0
            ? threads
            : static_cast<int64_t>(Target::of(module)->getMachine().threads);
    auto device =
        gpu::GPUModuleOp::create(builder, module.getLoc(), kDeviceModule);
    for (exec::CallOp call : findAll<exec::CallOp>(module))
      if (call.getEntry() == "ingot_shard_square_sum")
        generateSum(call);
    // Those of generated matmuls are parts of these.
    llvm::DenseMap<StringAttr, exec::KernelOp> epilogues;
    llvm::DenseSet<StringAttr> launched;
    module.walk([&](Operation *op) {
      if (auto launch = dyn_cast<exec::LaunchOp>(op))
        launched.insert(launch.getKernelAttr().getAttr());
      if (auto product = dyn_cast<exec::MatmulEpilogueOp>(op))
        for (FlatSymbolRefAttr name :
             {product.getKernelAttr(), product.getExtraAttr()})
          if (name && !isGenerated(product))
            launched.insert(name.getAttr());
    });
    llvm::DenseMap<StringAttr, int64_t> units = findRangeUnits(module);
    llvm::DenseMap<StringAttr, DeviceKernel> kernels;
    for (auto kernel :
         llvm::make_early_inc_range(module.getOps<exec::KernelOp>())) {
      StringAttr name = kernel.getSymNameAttr();
      if (kernel.getKind() == stringifyFusionKind(FusionKind::Epilogue)) {
        epilogues[name] = kernel;
        if (!launched.contains(name))
          continue;
      }
      int64_t unit = units.lookup(name);
      DeviceKernel built =
          DeviceKernelBuilder(kernel, device, filling, unit).build();
      if (unit != 0 && built.extent == 0) {
        kernel.emitOpError("is not a loop over the elements of shards");
        return signalPassFailure();
      }
      numKernels += built.finish ? 2 : 1;
      kernels[name] = std::move(built);
      if (!epilogues.contains(name))
        kernel.erase();
    }
    MessageExchange messages(module, device);
    for (auto step : module.getOps<exec::StepOp>()) {
      auto lowered = messages.lower(step);
      step.walk([&](exec::LaunchOp launch) {
        auto kernel = kernels.find(launch.getKernelAttr().getAttr());
        if (kernel == kernels.end())
          lowered = launch.emitOpError(
              "launches a kernel that is not an 'exec.kernel' any more");
        else if (failed(lowerLaunch(launch, kernel->second)))
          lowered = failure();
      });
      step.walk([&](exec::MatmulEpilogueOp product) {
        if (isGenerated(product)) {
          if (failed(generateProduct(product, epilogues, device)))
            lowered = failure();
          return;
        }
        auto find = [&](FlatSymbolRefAttr name) -> DeviceKernel * {
          auto kernel = name ? kernels.find(name.getAttr()) : kernels.end();
          if (name && kernel == kernels.end())
            lowered = product.emitOpError("has an epilogue that is not an "
                                          "'exec.kernel' any more");
          return kernel == kernels.end() ? nullptr : &kernel->second;
        };
        lowered = success(
            succeeded(lowerProduct(product, find(product.getKernelAttr()),
                                   find(product.getExtraAttr()))) &&
            succeeded(lowered));
      });
      if (failed(lowered))
        return signalPassFailure();
    }
    for (auto [name, kernel] : epilogues)
      kernel.erase();
    messages.finish();
    numKernels += messages.countKernels();
  }

private:
  template <typename Op> static SmallVector<Op> findAll(ModuleOp module) {
    SmallVector<Op> found;
    module.walk([&](Op op) { found.push_back(op); });
    return found;
  }

  /// Returns, for the kernels that some launch runs on a shard, a common
  /// divisor of the offsets of shards, and of tensors in their buckets.
  static llvm::DenseMap<StringAttr, int64_t> findRangeUnits(ModuleOp module) {
    llvm::DenseMap<StringAttr, int64_t> units;
    for (exec::LaunchOp launch : findAll<exec::LaunchOp>(module))
      if (ShardAttr shard = launch.getShardAttr()) {
        int64_t &unit = units[launch.getKernelAttr().getAttr()];
        unit = std::gcd(std::gcd<int64_t>(unit, INGOT_SHARD_ELEMENTS),
                        shard.getFirst());
      }
    return units;
  }

  /// Creates a kernel that replaces the library call: squares in double
  /// precision, summed.
  void generateSum(exec::CallOp sum) {
    Value input = sum.getBuffers()[0], result = sum.getBuffers()[1];
    auto buffer = cast<MemRefType>(input.getType());
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
        builder, sum.getLoc(), name, input, result,
        /*flops=*/2 * type.getNumElements(), /*bytes=*/IntegerAttr(),
        /*extent=*/0, /*grain=*/0,
        ShardAttr::get(&getContext(), sum.getDesc().getInteger("shard_first"),
                       sum.getDesc().getInteger("shard_of")),
        sum.getScratchAttr());
    sum.erase();
  }

  LogicalResult lowerLaunch(exec::LaunchOp launch, const DeviceKernel &kernel) {
    OpBuilder builder(launch);
    Location loc = launch.getLoc();
    auto partials =
        carveScratch(builder, launch, launch.getScratchAttr(), kernel.partials);
    if (failed(partials))
      return failure();
    SmallVector<Value> outputs(launch.getOutputs()), finished;
    for (auto [number, partial] : llvm::zip(kernel.finished, *partials)) {
      finished.push_back(outputs[number]);
      outputs[number] = partial;
    }
    if (kernel.finish && kernel.finished.empty()) {
      finished = std::move(outputs);
      outputs = *partials;
    }
    exec::LaunchGridOp main =
        createLaunch(builder, loc, kernel.main, launch.getInputs(), outputs);
    main.setFlops(launch.getFlops());
    main.setBytesAttr(launch.getBytesAttr());
    main.setExtent(kernel.extent);
    main.setShardAttr(launch.getShardAttr());
    if (kernel.finish)
      createLaunch(builder, loc, *kernel.finish, *partials, finished);
    launch.erase();
    return success();
  }

  /// Whether the matmul and its epilogue are one generated kernel.
  static bool isGenerated(exec::MatmulEpilogueOp product) {
    return !product.getLibraryAttr();
  }

  LogicalResult
  generateProduct(exec::MatmulEpilogueOp product,
                  const llvm::DenseMap<StringAttr, exec::KernelOp> &epilogues,
                  gpu::GPUModuleOp device) {
    OpBuilder builder(product);
    FlatSymbolRefAttr name = product.getKernelAttr();
    exec::KernelOp epilogue =
        name ? epilogues.lookup(name.getAttr()) : exec::KernelOp();
    if (name && !epilogue)
      return product.emitOpError("has an epilogue that is not an 'exec.kernel' "
                                 "any more");
    Machine machine = Target::of(product)->getMachine();
    auto desc = product.getDesc().getDescriptor().get<ingot_matmul_desc>();
    StringRef arch = Target::of(product)->getSpec().arch;
    if (StringRef reason = MatmulPlan::refuse(desc, arch); !reason.empty())
      return product.emitOpError("has no generated kernel: ") << reason;
    MatmulPlan plan = MatmulPlan::choose(desc, machine);
    auto &launch = products[{product.getDesc(), product.getKernelAttr()}];
    if (!launch) {
      auto flatten = [](ValueRange buffers) {
        return llvm::map_to_vector(buffers, [](Value buffer) -> Type {
          auto type = cast<MemRefType>(buffer.getType());
          return flatType(
              RankedTensorType::get(type.getShape(), type.getElementType()));
        });
      };
      launch =
          DeviceMatmul(desc, epilogue, plan, device, product.getLoc())
              .emit("matmul_" + Twine(products.size() - 1),
                    flatten(product.getInputs()), flatten(product.getOutputs()),
                    static_cast<int64_t>(machine.getGpu().multiprocessors));
      ++numKernels;
    }
    auto call = exec::MatmulGridOp::create(
        builder, product.getLoc(), product.getLhs(), product.getRhs(),
        exec::GridAttr::get(&getContext(), getDeviceSymbol(builder, *launch),
                            launch->grid, launch->block, launch->shared),
        product.getInputs(), product.getOutputs(),
        exec::MatmulTileAttr::get(&getContext(), plan.tileM, plan.tileN,
                                  plan.tileK),
        plan.getSharedBytes(), product.getDesc(), product.getFlops());
    call->setDiscardableAttrs(product->getDiscardableAttrDictionary());
    product.erase();
    return success();
  }

  /// `finish` and `extra` may be null.
  LogicalResult lowerProduct(exec::MatmulEpilogueOp product,
                             const DeviceKernel *finish,
                             const DeviceKernel *extra) {
    OpBuilder builder(product);
    auto describe = [&](const DeviceLaunch &grid) {
      return exec::GridAttr::get(&getContext(), getDeviceSymbol(builder, grid),
                                 grid.grid, grid.block, grid.shared);
    };
    SmallVector<Value> partials;
    SmallVector<Attribute> extras;
    LibraryEpilogueAttr library = product.getLibraryAttr();
    if (extra) {
      extras.push_back(describe(extra->main));
      if (extra->finish)
        extras.push_back(describe(*extra->finish));
      // The library's workspace is free again when they are written.
      exec::ScratchAttr scratch;
      if (auto buffer = product.getScratch())
        scratch = exec::ScratchAttr::get(
            &getContext(), buffer.getDefiningOp<exec::BufferOp>().getOffset(),
            byteSize(cast<MemRefType>(buffer.getType())));
      auto carved = carveScratch(builder, product, scratch, extra->partials);
      if (failed(carved))
        return failure();
      partials = std::move(*carved);
      // The extra output comes after them.
      if (!partials.empty())
        library = LibraryEpilogueAttr::get(
            &getContext(), library.getActivation(), library.getBias(),
            library.getAddend(), library.getAuxiliary(), library.getResult(),
            *library.getBiasGrad() + static_cast<int64_t>(partials.size()),
            library.getSummed());
    }
    auto call = exec::MatmulEpilogueGridOp::create(
        builder, product.getLoc(), product.getLhs(), product.getRhs(),
        product.getScales(), finish ? describe(finish->main) : exec::GridAttr(),
        product.getInputs(), product.getOutputs(),
        extras.empty() ? ArrayAttr() : builder.getArrayAttr(extras),
        product.getExtraInputs(), partials, product.getExtraOutput(),
        product.getProduct(), product.getScratch(), product.getDesc(),
        product.getFlops(), library);
    call->setDiscardableAttrs(product->getDiscardableAttrDictionary());
    product.erase();
    return success();
  }

  /// The kernels of sums of squares, by the type that they read.
  llvm::DenseMap<Type, StringAttr> sums;
  /// The generated matmuls, by their descriptors and epilogues.
  llvm::MapVector<std::pair<Attribute, Attribute>, std::optional<DeviceLaunch>>
      products;
};

} // namespace
