//===----------------------------------------------------------------------===//
//
// The target that runs steps on the host's CPU: kernels are vector code,
// library calls those of runtime/cpu.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CPU_CPUTARGET_H
#define INGOT_PASSES_TARGETS_CPU_CPUTARGET_H

#include "dialects/ingot/target/Target.h"

namespace ingot {

class CpuTarget : public Target {
public:
  /// `spec.arch` is `native`, empty for the same, or a processor as LLVM names
  /// it. An error where there is none.
  static llvm::Expected<std::unique_ptr<Target>> create(const TargetSpec &spec,
                                                        const Machine &machine);

  /// Built-in figures for a processor with the features (LLVM's names).
  static Machine describeMachine(llvm::ArrayRef<std::string> features,
                                 unsigned threads);
  /// As getSupport(), for machine figures alone.
  static LibrarySupport getSupport(LibraryCall call, const Machine &machine);
  /// From placed steps to kernels in the LLVM dialect. What remains is
  /// `--ingot-lower-steps`, which needs the manifest.
  static void addKernelPipeline(mlir::OpPassManager &manager, unsigned level,
                                const HostProcessor &host);

  Machine describeMachine() const override;
  LibrarySupport getSupport(LibraryCall call) const override {
    return getSupport(call, machine);
  }
  bool hasAttention(mlir::Type) const override { return true; }
  bool prefersChannelsLast(LibraryCall call) const override;
  void addKernelPipeline(mlir::OpPassManager &manager,
                         unsigned level) const override {
    addKernelPipeline(manager, level, getHost());
  }
  HostProcessor getHost() const override;
  llvm::StringRef getRuntime() const override { return "cpu"; }
  llvm::json::Object describe() const override;

private:
  using Target::Target;
};

/// Makes the kind `cpu` known.
void registerCpuTarget();
/// Registers `--ingot-cpu-kernels`.
void registerCpuPipelines();

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_CPU_CPUTARGET_H
