// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The target that executes steps on the host's CPU: kernels are vector code,
// and library calls are those of runtime/cpu.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CPU_CPUTARGET_H
#define INGOT_PASSES_TARGETS_CPU_CPUTARGET_H

#include "dialects/ingot/target/Target.h"
#include "passes/targets/cpu/CpuCalls.h"

namespace ingot {

class CpuTarget : public Target {
public:
  /// Creates the target. `spec.arch` is `native` (the same as empty) or LLVM's
  /// name of a CPU; an unknown name is an error.
  static llvm::Expected<std::unique_ptr<Target>> create(const TargetSpec &spec,
                                                        const Machine &machine);

  /// Adds the passes from placed steps to kernels in the LLVM dialect.
  /// `--ingot-lower-steps`, which needs the manifest, follows.
  static void addKernelPipeline(mlir::OpPassManager &manager, unsigned level,
                                const HostProcessor &host);

  Machine describeMachine() const override;
  const TargetCalls &getCalls() const override { return calls; }
  void addKernelPipeline(mlir::OpPassManager &manager,
                         unsigned level) const override {
    addKernelPipeline(manager, level, getHost());
  }
  HostProcessor getHost() const override;
  llvm::StringRef getRuntime() const override { return "cpu"; }
  runtime::TargetDescription describe() const override;

private:
  using Target::Target;

  CpuCalls calls{machine};
};

/// Registers the kind `cpu`.
void registerCpuTarget();
/// Registers `--ingot-cpu-kernels`.
void registerCpuPipelines();

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_CPU_CPUTARGET_H
