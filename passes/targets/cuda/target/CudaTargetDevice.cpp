// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/cuda/target/CudaTargetDevice.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/CallDescriptor.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/targets/cuda/Passes.h"
#include "passes/targets/cuda/emit/DeviceCode.h"
#include "passes/targets/host/ScalarPasses.h"

using namespace mlir;
using namespace ingot;

/// Attentions of one shape share the memory that their algorithm needs in
/// addition to the planned one.
bool CudaTargetDevice::canRunBeside(Operation *op) const {
  auto call = dyn_cast<LibraryCall>(op);
  return !call || !call.getEntry().starts_with("ingot_attention");
}

std::optional<codegen::MessageBuffers> ingot::findMessages(LibraryCall call) {
  std::optional<codegen::MessageBuffers> buffers;
  CallDescriptor::of(call).match<ingot_bucket_desc>([&](const auto &desc) {
    if (desc.compression != INGOT_UNCOMPRESSED &&
        abi::findEntry(call.getEntry())->phase == abi::Phase::Start)
      buffers = codegen::MessageBuffers::of(
          call->getContext(), desc.compression, desc.elements, desc.k);
  });
  return buffers;
}

int64_t CudaTargetDevice::getBytesOfRank(Operation *op) const {
  auto call = dyn_cast<LibraryCall>(op);
  std::optional<codegen::MessageBuffers> buffers;
  if (call)
    buffers = findMessages(call);
  return buffers ? byteSize(buffers->message) : 0;
}

int64_t CudaTargetDevice::getStagingBlocks() const {
  return INGOT_STAGING_BLOCKS;
}

void CudaTargetDevice::addPipeline(OpPassManager &manager) const {
  addFunctions(manager, gpu.getInstructions());
}

void CudaTargetDevice::addFunctions(OpPassManager &manager,
                                    const GpuSpec::Instructions &instructions) {
  manager.addPass(createEmitCudaKernels());
  ExpandMathOptions units;
  units.roundBf16 = units.approximateExp = instructions.math;
  units.roundFloat8 = instructions.float8;
  // Functions are polynomials at every level: there is no C library on a GPU.
  OpPassManager &functions =
      manager.nest<gpu::GPUModuleOp>().nest<gpu::GPUFuncOp>();
  addScalarPasses(functions, /*level=*/2, units);
  // Constants have been folded, and bounds are where masks look for them.
  functions.addPass(createSplitMaskedLoops());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
}

llvm::Expected<DeviceCode> CudaTargetDevice::emitCode(ModuleOp module) const {
  gpu::GPUModuleOp device = *module.getOps<gpu::GPUModuleOp>().begin();
  auto code = generateDeviceCode(device, gpu.getArch());
  if (code)
    device.erase();
  return code;
}
