// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/cuda/target/CudaTarget.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/CallDescriptor.h"
#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/codegen/ElementEmitter.h"
#include "passes/targets/cuda/Passes.h"
#include "passes/targets/cuda/emit/DeviceCode.h"
#include "passes/targets/cuda/kernels/DeviceMessages.h"
#include "passes/targets/cuda/kernels/ReductionSplit.h"
#include "passes/targets/host/Object.h"
#include "runtime/abi/ManifestTypes.h"

using namespace mlir;
using namespace ingot;

llvm::Expected<std::unique_ptr<Target>>
CudaTarget::create(const TargetSpec &spec, const Machine &machine) {
  if (!spec.arch.empty())
    if (llvm::Error error = checkArchitecture(spec.arch))
      return std::move(error);
  return std::unique_ptr<Target>(new CudaTarget(spec, machine));
}

void ingot::registerCudaTarget() {
  registerTarget("cuda", &CudaTarget::create);
}

runtime::TargetDescription CudaTarget::describe() const {
  runtime::TargetDescription described;
  described.kind = "cuda";
  described.arch = gpu.getArch();
  described.tuning = runtime::TuningPlace::Device;
  return described;
}

HostProcessor CudaTarget::getHost() const {
  // Any CPU can launch kernels.
  return llvm::cantFail(findProcessor("x86-64"));
}

namespace {
/// A GPU's figures, from the folder `machines`.
struct NamedMachine {
  llvm::StringLiteral name, json;
};
} // namespace

static constexpr NamedMachine kMachines[] = {
#include "passes/targets/cuda/Machines.inc"
};

StringRef CudaTarget::findMachine(StringRef name) const {
  for (const NamedMachine &machine : kMachines)
    if (machine.name == name)
      return machine.json;
  return "";
}

Machine CudaTarget::describeMachine() const {
  // The GPU of the architecture that training uses most.
  unsigned capability = gpu.getCapability();
  StringRef name = capability < GpuSpec::kHopper      ? "a100"
                   : capability < GpuSpec::kBlackwell ? "h100"
                                                      : "b200";
  Machine machine;
  llvm::cantFail(machine.readJson(findMachine(name)));
  return machine;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Returns what kernels that replace a call work in.
static int64_t countCallScratch(LibraryCall call, int64_t threads) {
  MLIRContext *context = call->getContext();
  CallDescriptor descriptor = CallDescriptor::of(call);
  int64_t bytes = 0;
  // Kernels encode what a bucket sends, and add up squares.
  if (auto buffers = findMessages(call)) {
    SmallVector<MemRefType> types = {buffers->message};
    if (buffers->counts)
      types.push_back(buffers->counts);
    bytes = codegen::countAlignedBytes(types);
  }
  descriptor.match<ingot_shard_desc>([&](const ingot_shard_desc &desc) {
    bytes = codegen::countAlignedBytes(
        codegen::ReductionSplit::ofAll(desc.elements, Float64Type::get(context),
                                       threads)
            .partials);
  });
  return bytes;
}

int64_t CudaTarget::getScratchBytes(Operation *op) const {
  using namespace codegen;
  int64_t library = Target::getScratchBytes(op);
  auto threads = static_cast<int64_t>(machine.threads);
  if (auto call = dyn_cast<LibraryCall>(op))
    return std::max(library, countCallScratch(call, threads));
  auto fusion = dyn_cast<FusionOp>(op);
  if (!fusion)
    return library;
  // A generated matmul works in registers and shared memory.
  if (fusion.getKind() == FusionKind::Epilogue && !fusion.getLibraryAttr())
    return 0;
  auto count = [&](const ReductionSpace &space, TypeRange inputs) {
    SmallVector<Type> buffers = llvm::map_to_vector(inputs, [](Type type) {
      return Type(flatType(cast<RankedTensorType>(type)));
    });
    return countAlignedBytes(
        ReductionSplit::of(space, buffers, threads).partials);
  };
  if (fusion.getKind() == FusionKind::Reduction) {
    Block &body = fusion.getBody().front();
    return count(ReductionSpace(body.getTerminator()->getOperands()),
                 body.getArgumentTypes());
  }
  if (fusion.getKind() == FusionKind::Row) {
    Block &body = fusion.getBody().front();
    std::optional<RowSpace> space =
        RowSpace::of(llvm::to_vector_of<Operation *>(
            llvm::make_pointer_range(body.without_terminator())));
    return space ? countAlignedBytes(RowSums::of(body, *space).partials)
                 : library;
  }
  SmallVector<Operation *> extra = fusion.getExtraOps();
  if (extra.empty() || !isa<Reduction>(extra.back()))
    return library;
  SmallVector<Type> read;
  for (Operation *part : extra)
    for (Value operand : part->getOperands())
      if (!llvm::is_contained(extra, operand.getDefiningOp()))
        read.push_back(operand.getType());
  // Partial sums are written when the library's workspace is free again.
  return std::max(library,
                  count(ReductionSpace(extra.back()->getResults()), read));
}

// cublasLtMatmul() requires it of workspaces ("must be 256B aligned"), and its
// heuristics expect it of matrices.
int64_t CudaTarget::getAlignment() const { return 256; }

//===----------------------------------------------------------------------===//
// Passes and code
//===----------------------------------------------------------------------===//

void CudaTarget::addLegalization(OpPassManager &functions,
                                 LegalizationPoint point,
                                 const LegalizationOptions &options) const {
  if (point == LegalizationPoint::Kernels)
    functions.addPass(createPadConvolutions());
  if (!options.optimizes)
    return;
  switch (point) {
  case LegalizationPoint::Forward:
    functions.addPass(createLegalizeAttention());
    return;
  case LegalizationPoint::Precision:
    // Before compute copies of biases are made.
    functions.addPass(createRoundEpilogues({options.keepFp32}));
    return;
  case LegalizationPoint::Kernels:
    if (spec.getOption("conv-fusion") == "auto")
      functions.addPass(createFuseConvolutions());
    // This is the last legalization: no other pass handles packed bits.
    functions.addPass(createPackSigns());
    return;
  }
}

void CudaTarget::addKernelPipeline(OpPassManager &manager, unsigned) const {
  CudaTargetDevice::addFunctions(manager, gpu.getInstructions());
  manager.addNestedPass<gpu::GPUModuleOp>(createConvertDeviceKernels());
}

void ingot::registerCudaPipelines() {
  PassPipelineRegistration<>("ingot-cuda-kernels",
                             "from placed steps to GPU functions for CUDA",
                             [](OpPassManager &manager) {
                               CudaTargetDevice::addFunctions(
                                   manager, {/*math=*/true, /*float8=*/true});
                             });
}
