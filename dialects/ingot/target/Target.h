// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The target that a module is compiled for, as one object. Generic passes query
// it and never branch on its kind; the implementations are in passes/targets,
// above all passes that query them, and are found by the kind that
// `#ingot.target` names. Adding a target takes a subclass and its kernels in
// one folder of passes/targets, registered with registerTarget(), and its
// runtime in one folder of runtime. What passes ask is in three facets, of
// which a target implements what concerns it: TargetCalls, TargetKernels for
// other kernels than those of the host's CPU, and TargetDevice for a device
// with memory of its own.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_TARGET_TARGET_H
#define INGOT_DIALECTS_INGOT_TARGET_TARGET_H

#include "dialects/ingot/support/NamePattern.h"
#include "dialects/ingot/target/Machine.h"
#include "dialects/ingot/target/TargetCalls.h"
#include "dialects/ingot/target/TargetDevice.h"
#include "dialects/ingot/target/TargetKernels.h"
#include "llvm/Support/Error.h"

#include <map>
#include <memory>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace ingot::runtime {
struct TargetDescription;
} // namespace ingot::runtime

namespace ingot {

/// The attribute of a module that holds the options of its target, a dictionary
/// of texts and, for flags, units.
inline constexpr llvm::StringLiteral kTargetOptionsAttr =
    "ingot.target_options";

/// The parameters of `#ingot.target`, and the options of the target that were
/// given, which select a target.
struct TargetSpec {
  std::string kind = "cpu", arch;
  MathMode math = MathMode::Exact;
  /// The options by name (passes/options); the value of a flag is empty.
  std::map<std::string, std::string> options;

  /// Returns the value of an option; none if it was not given.
  std::optional<llvm::StringRef> getOption(const std::string &name) const {
    auto found = options.find(name);
    if (found == options.end())
      return std::nullopt;
    return found->second;
  }
};

/// The points of the pipeline at which a target rewrites ops that its runtime
/// does not support directly.
enum class LegalizationPoint {
  /// After attention is formed, and before gradients are built.
  Forward,
  /// After gradients are built and every op has its precision.
  Precision,
  /// When the module consists of primitives and library calls, before fusion.
  Kernels,
};

struct LegalizationOptions {
  /// The nodes whose precision is not reduced: see --ingot-assign-precision.
  NamePattern keepFp32;
  /// Whether more is changed than what the target has no form for: not at -O0,
  /// where all is done as ops say it.
  bool optimizes = true;
};

/// A CPU by LLVM's name, with the features that code may use, without sign, and
/// those of the named CPU that it may not use.
struct HostProcessor {
  std::string cpu;
  /// LLVM's name of the platform; empty for that of this machine.
  std::string triple;
  std::vector<std::string> features, disabled;
};

class Target {
public:
  virtual ~Target();

  /// Returns the target of the module that contains `op`, with that module's
  /// machine; the CPU if the module names no target.
  static std::unique_ptr<const Target> of(mlir::Operation *op);
  /// Returns the target that `spec` selects, with built-in machine figures, or
  /// an error if the kind or architecture is unknown.
  static llvm::Expected<std::unique_ptr<const Target>>
  get(const TargetSpec &spec);
  /// Sets the attributes of a module that of() reads.
  static void set(mlir::ModuleOp module, const TargetSpec &spec,
                  const Machine &machine);
  /// Returns the registered kinds, sorted.
  static std::vector<std::string> listKinds();

  const TargetSpec &getSpec() const { return spec; }
  /// Returns the throughputs, sizes and latencies that the cost model uses.
  const Machine &getMachine() const { return machine; }
  /// Returns the built-in figures of the architecture, for the number of
  /// threads of this machine if the target runs on it.
  virtual Machine describeMachine() const = 0;
  /// Returns the JSON of a machine that the target knows by name
  /// (docs/machine.md); empty if it does not.
  virtual llvm::StringRef findMachine(llvm::StringRef name) const;

  //===--------------------------------------------------------------------===//
  // Facets
  //===--------------------------------------------------------------------===//

  virtual const TargetCalls &getCalls() const = 0;
  /// Returns the kernels; those of the host's CPU unless the target has others.
  virtual const TargetKernels &getKernels() const;
  /// Returns the device that steps run on; null where that is the host's CPU.
  virtual const TargetDevice *findDevice() const { return nullptr; }

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  /// Memory in bytes that the arena holds for an op while it runs, apart from
  /// its operands and results: scratch of a library call, alone or as the root
  /// of an epilogue fusion, and of the kernels that code generation makes of a
  /// fusion or call. The op that starts a collective keeps it until the wait.
  /// Nothing is added to the arena after it is planned.
  virtual int64_t getScratchBytes(mlir::Operation *op) const;
  /// Returns the alignment in bytes of every tensor and of all scratch, a
  /// multiple of INGOT_ALIGNMENT.
  virtual int64_t getAlignment() const;

  //===--------------------------------------------------------------------===//
  // Passes and code
  //===--------------------------------------------------------------------===//

  /// Adds the passes that the target needs at a point of the pipeline. The pass
  /// manager is that of a function (`func.func`).
  virtual void addLegalization(mlir::OpPassManager &functions,
                               LegalizationPoint point,
                               const LegalizationOptions &options) const;
  /// Adds the passes from placed steps to kernels in the form that
  /// TargetDevice::emitCode() and the code generation for the host expect;
  /// `level` is that of -O0 to -O3.
  virtual void addKernelPipeline(mlir::OpPassManager &manager,
                                 unsigned level) const = 0;
  /// Returns the CPU that steps, and kernels for CPUs, are compiled for.
  virtual HostProcessor getHost() const = 0;
  /// Returns the runtime that trainers are linked with, as in `link-NAME.txt`
  /// of the build.
  virtual llvm::StringRef getRuntime() const = 0;
  /// Returns the description of the target in the manifest (docs/manifest.md).
  virtual runtime::TargetDescription describe() const = 0;

protected:
  Target(TargetSpec spec, Machine machine)
      : spec(std::move(spec)), machine(machine) {}

  TargetSpec spec;
  Machine machine;
};

/// Creates a target of the kind of `spec` with the given figures, or returns an
/// error if the architecture is unknown.
using TargetFactory = llvm::Expected<std::unique_ptr<Target>> (*)(
    const TargetSpec &spec, const Machine &machine);

/// Registers a kind for get() and `#ingot.target`. Registering it again has no
/// effect.
void registerTarget(llvm::StringRef kind, TargetFactory factory);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_TARGET_TARGET_H
