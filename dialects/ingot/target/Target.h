//===----------------------------------------------------------------------===//
//
// The target that a module is compiled for, as one object. Generic passes ask
// it and never what kind it is; implementations stand in passes/targets, above
// all passes that ask, and are found by the kind that `#ingot.target` names.
//
// Adding a target: a subclass and its kernels in one folder of passes/targets,
// registered with registerTarget(), and its runtime in one folder of runtime.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_TARGET_TARGET_H
#define INGOT_DIALECTS_INGOT_TARGET_TARGET_H

#include "dialects/ingot/attention/AttentionSizes.h"
#include "dialects/ingot/target/EpilogueLibrary.h"
#include "dialects/ingot/target/Machine.h"
#include "runtime/abi/Abi.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <memory>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace ingot {

/// What selects a target: the parameters of `#ingot.target`.
struct TargetSpec {
  std::string kind = "cpu", arch;
  MathMode math = MathMode::Exact;
};

/// Whether an entry point of the target's runtime executes a library call.
struct LibrarySupport {
  /// Why it does not; empty if it does.
  std::string reason;
  /// Scratch memory in bytes that the call needs while it runs.
  int64_t scratchBytes = 0;
  /// How it multiplies, as its descriptor says.
  ingot_math math = INGOT_MATH_EXACT;

  explicit operator bool() const { return reason.empty(); }
};

/// An attention that may become one library call.
struct AttentionQuery {
  AttentionSizes sizes;
  /// Keys that a query attends to, as in `ingot.attention`.
  int64_t left, right;
  /// The element type that it will be computed in.
  mlir::Type element;
  /// Whether there are a mask that is no bound, and a bias, mask or lengths.
  bool hasMask = false, hasTerms = false;
  bool hasDropout = false;
  /// Whether the log-sum-exp is used elsewhere than in the gradient.
  bool readsLse = false;
};

/// Lengths in bytes of matmul rows that the target's memory accesses favour.
struct RowAlignment {
  /// Rows of a multiple of `unit` are read in whole accesses; other rows are
  /// padded to a multiple of `line`. A unit of 0: no length is better.
  int64_t unit = 0, line = 0;
};

/// Points of the pipeline at which a target rewrites what its runtime does not
/// take as it is.
enum class LegalizationPoint {
  /// Attention is formed, gradients are not built yet.
  Forward,
  /// Gradients are built and every op has its precision.
  Precision,
  /// Primitives and library calls only; fusion is next.
  Kernels,
};

struct LegalizationOptions {
  /// Nodes around which no precision is given up: see --ingot-assign-precision.
  std::string keepFp32;
};

/// Machine code of kernels for a device with a module format of its own; empty
/// where kernels are part of the host's object.
struct DeviceCode {
  /// Machine code, empty if the machine has no assembler.
  std::string binary;
  /// Assembly text (PTX), which drivers compile for later architectures too.
  std::string text;
};

/// A CPU as LLVM names it, and its features without sign.
struct HostProcessor {
  std::string cpu;
  std::vector<std::string> features;
};

class Target {
public:
  virtual ~Target();

  /// The target of the module that holds `op`, with that module's machine
  /// figures. The CPU if the module names none.
  static std::unique_ptr<const Target> of(mlir::Operation *op);
  /// The target that `spec` selects, with built-in figures. An error where the
  /// kind or architecture is unknown.
  static llvm::Expected<std::unique_ptr<const Target>>
  get(const TargetSpec &spec);
  /// Sets the attributes of a module that of() reads.
  static void set(mlir::ModuleOp module, const TargetSpec &spec,
                  const Machine &machine);
  /// Kinds that are registered, sorted.
  static std::vector<std::string> listKinds();

  const TargetSpec &getSpec() const { return spec; }
  /// Throughputs, sizes and latencies: what the cost model computes with.
  const Machine &getMachine() const { return machine; }
  /// Built-in figures of the architecture, for as many threads as this machine
  /// has where the target runs on it.
  virtual Machine describeMachine() const = 0;

  //===--------------------------------------------------------------------===//
  // Library calls
  //===--------------------------------------------------------------------===//

  /// Whether an entry point executes `call`, and what it then needs.
  virtual LibrarySupport getSupport(LibraryCall call) const = 0;
  /// Memory in bytes that the arena holds for an op while it runs, apart from
  /// its operands and results: scratch of a library call, alone or as the root
  /// of an epilogue fusion, and of the kernels that code generation makes of a
  /// fusion or call. The op that starts a collective keeps it until the wait.
  /// Nothing is added to the arena after it is planned.
  virtual int64_t getScratchBytes(mlir::Operation *op) const;
  /// Whether attention of this element type can be a library call at all.
  virtual bool hasAttention(mlir::Type element) const = 0;
  /// Why an attention cannot be a library call; empty if it can.
  virtual std::string refuseAttention(const AttentionQuery &query) const;
  /// Whether a convolution runs best with channels as the last dimension.
  virtual bool prefersChannelsLast(LibraryCall call) const = 0;
  /// Whether filters take the order of the tensors that they are applied to.
  virtual bool permutesFilters() const { return false; }
  virtual RowAlignment getRowAlignment(mlir::Type element) const;

  //===--------------------------------------------------------------------===//
  // Kernels
  //===--------------------------------------------------------------------===//

  /// The library whose epilogues are the only ones that matmuls may have; null
  /// where generated code can be the epilogue.
  virtual const EpilogueLibrary *getEpilogueLibrary() const { return nullptr; }
  /// Whether generated kernels distribute one reduction over all threads, so
  /// that the graph need not split it.
  virtual bool splitsReductions() const { return false; }
  /// How many copies of a function's inputs the host stages for it; 0 where
  /// functions read the host's memory.
  virtual int64_t getStagingBlocks() const { return 0; }

  //===--------------------------------------------------------------------===//
  // Passes and code
  //===--------------------------------------------------------------------===//

  /// Adds the passes that the target needs at a point of the pipeline. The
  /// manager is of functions (`func.func`).
  virtual void addLegalization(mlir::OpPassManager &functions,
                               LegalizationPoint point,
                               const LegalizationOptions &options) const;
  /// Adds the passes from placed steps to kernels that emitDeviceCode() and the
  /// host's code generation take; `level` as -O0 to -O3.
  virtual void addKernelPipeline(mlir::OpPassManager &manager,
                                 unsigned level) const = 0;
  /// Takes the device's kernels out of the module and compiles them.
  virtual llvm::Expected<DeviceCode>
  emitDeviceCode(mlir::ModuleOp module) const;
  /// The processor that the rest is compiled for: steps, and kernels of CPUs.
  virtual HostProcessor getHost() const = 0;
  /// The runtime that trainers are linked with: `link-NAME.txt` of the build.
  virtual llvm::StringRef getRuntime() const = 0;
  /// As the manifest says it (docs/manifest.md).
  virtual llvm::json::Object describe() const = 0;

protected:
  Target(TargetSpec spec, Machine machine)
      : spec(std::move(spec)), machine(machine) {}

  TargetSpec spec;
  Machine machine;
};

/// Makes a target of the spec's kind with the given figures. An error where the
/// architecture is unknown.
using TargetFactory = llvm::Expected<std::unique_ptr<Target>> (*)(
    const TargetSpec &spec, const Machine &machine);

/// Makes a kind known to get() and to `#ingot.target`. Once for each kind; a
/// second time has no effect.
void registerTarget(llvm::StringRef kind, TargetFactory factory);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_TARGET_TARGET_H
