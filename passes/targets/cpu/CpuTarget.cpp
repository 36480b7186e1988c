// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/cpu/CpuTarget.h"

#include "dialects/exec/Exec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/targets/cpu/CpuMachine.h"
#include "passes/targets/cpu/Passes.h"
#include "passes/targets/host/Object.h"
#include "passes/targets/host/Passes.h"
#include "passes/targets/host/ScalarPasses.h"
#include "runtime/abi/ManifestTypes.h"
#include "runtime/core/machine/ControlGroups.h"

using namespace mlir;
using namespace ingot;

llvm::Expected<std::unique_ptr<Target>>
CpuTarget::create(const TargetSpec &spec, const Machine &machine) {
  if (auto host = findProcessor(spec.arch.empty() ? "native" : spec.arch);
      !host)
    return host.takeError();
  if (spec.math != MathMode::Exact)
    return llvm::createStringError("a CPU has no TF32");
  return std::unique_ptr<Target>(new CpuTarget(spec, machine));
}

void ingot::registerCpuTarget() { registerTarget("cpu", &CpuTarget::create); }

HostProcessor CpuTarget::getHost() const {
  return llvm::cantFail(
      findProcessor(spec.arch.empty() ? "native" : spec.arch));
}

runtime::TargetDescription CpuTarget::describe() const {
  HostProcessor host = getHost();
  runtime::TargetDescription described;
  described.kind = "cpu";
  described.cpu = host.cpu;
  described.features = host.features;
  return described;
}

Machine CpuTarget::describeMachine() const {
  return describeProcessor(getHost().features,
                           static_cast<unsigned>(runtime::countProcessors()));
}

void CpuTarget::addKernelPipeline(OpPassManager &manager, unsigned level,
                                  const HostProcessor &host) {
  manager.addPass(createEmitCpuKernels());
  ExpandMathOptions units;
  units.ldexp = llvm::is_contained(host.features, "avx512f");
  units.roundBf16 = llvm::is_contained(host.features, "avx512bf16");
  // The operations of a polynomial wait for each other. Four independent
  // iterations keep the units busy.
  units.interleave = 4;
  OpPassManager &functions = manager.nest<func::FuncOp>();
  addScalarPasses(functions, level, units);
  if (level > 1) {
    functions.addPass(createStreamStores());
    PrefetchStreamsOptions streams;
    // AMD's prefetchers run far ahead on each stream; bursts of software
    // prefetch take their place in the queue to memory.
    if (StringRef(host.cpu).starts_with("znver"))
      streams.mostStreams = 0;
    functions.addPass(createPrefetchStreams(streams));
  }
  manager.addPass(createConvertKernels());
}

namespace {
struct KernelOptions : PassPipelineOptions<KernelOptions> {
  Option<unsigned> level{*this, "level", llvm::cl::desc("0 to 3, as -O"),
                         llvm::cl::init(2)};
};
} // namespace

void ingot::registerCpuPipelines() {
  PassPipelineRegistration<KernelOptions>(
      "ingot-cpu-kernels", "from placed steps to kernels for a baseline CPU",
      [](OpPassManager &manager, const KernelOptions &options) {
        CpuTarget::addKernelPipeline(manager, options.level, HostProcessor());
      });
}
