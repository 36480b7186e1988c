// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/emulator/EmulatorTarget.h"

#include "mlir/Pass/PassManager.h"
#include "passes/targets/cpu/CpuCalls.h"
#include "passes/targets/emulator/Passes.h"
#include "passes/targets/host/Object.h"
#include "passes/targets/host/Passes.h"
#include "runtime/abi/ManifestTypes.h"

using namespace mlir;
using namespace ingot;

llvm::Expected<std::unique_ptr<Target>>
EmulatorTarget::create(const TargetSpec &spec, const Machine &machine) {
  return std::unique_ptr<Target>(new EmulatorTarget(spec, machine));
}

void ingot::registerEmulatorTarget() {
  registerTarget("emulator", &EmulatorTarget::create);
}

Machine EmulatorTarget::describeMachine() const {
  Machine figures = CudaTarget::describeMachine();
  // Few, so that small tensors have all that large ones have.
  figures.threads = 512;
  return figures;
}

LibrarySupport EmulatorTarget::Calls::getSupport(LibraryCall call) const {
  // The host's threads are not those of the GPU: an entry point that needs more
  // takes memory of its own.
  Machine host = gpu.getMachine();
  host.threads = 1;
  return CpuCalls::getSupport(call, host);
}

HostProcessor EmulatorTarget::getHost() const {
  return llvm::cantFail(findProcessor("native"));
}

runtime::TargetDescription EmulatorTarget::describe() const {
  runtime::TargetDescription described;
  described.kind = "emulator";
  return described;
}

void EmulatorTarget::addLegalization(OpPassManager &functions,
                                     LegalizationPoint point,
                                     const LegalizationOptions &options) const {
  // The CPU's attention has none of the limits of the GPU's.
  if (point != LegalizationPoint::Forward)
    CudaTarget::addLegalization(functions, point, options);
}

void EmulatorTarget::addKernelPipeline(OpPassManager &manager, unsigned) const {
  CudaTargetDevice::addFunctions(manager, GpuSpec::Instructions());
  manager.addPass(createEmulateKernels());
  manager.addPass(createConvertKernels());
}
