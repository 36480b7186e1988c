// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The target that a module is compiled for, as one object. Generic passes query
// it and never branch on its kind; the implementations are in passes/targets,
// above all passes that query them, and are found by the kind that
// `#ingot.target` names. Adding a target takes a subclass and its kernels in
// one folder of passes/targets, registered with registerTarget(), and its
// runtime in one folder of runtime.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_TARGET_TARGET_H
#define INGOT_DIALECTS_INGOT_TARGET_TARGET_H

#include "dialects/ingot/ir/AttentionSizes.h"
#include "dialects/ingot/target/EpilogueLibrary.h"
#include "dialects/ingot/target/Machine.h"
#include "runtime/abi/Abi.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <memory>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace ingot::runtime {
struct TargetDescription;
} // namespace ingot::runtime

namespace ingot {

/// The parameters of `#ingot.target`, which select a target.
struct TargetSpec {
  std::string kind = "cpu", arch;
  MathMode math = MathMode::Exact;
};

/// Whether an entry point of the target's runtime executes a library call.
struct LibrarySupport {
  /// The reason why it does not; empty if it does.
  std::string reason;
  /// Scratch memory in bytes that the call needs while it runs.
  int64_t scratchBytes = 0;
  /// How it multiplies, as its descriptor says.
  ingot_math math = INGOT_MATH_EXACT;
  /// Why it multiplies that way, for a remark: a literal, empty where there is
  /// no choice.
  llvm::StringLiteral mathReason = "";

  explicit operator bool() const { return reason.empty(); }
};

/// An attention that may become one library call.
struct AttentionQuery {
  AttentionSizes sizes;
  /// The bounds of the keys that a query attends to, as in `ingot.attention`.
  int64_t left, right;
  /// The element type that the attention will be computed in.
  mlir::Type element;
  /// Whether there is a mask other than bounds, and whether there is a bias,
  /// mask or lengths.
  bool hasMask = false, hasTerms = false;
  bool hasDropout = false;
  /// Whether the log-sum-exp has other readers than the gradient.
  bool readsLse = false;
};

/// The lengths of matmul rows, in bytes, that the target prefers.
struct RowAlignment {
  /// Rows of a multiple of `unit` bytes are accessed efficiently; other rows
  /// are padded to a multiple of `line`. A unit of 0 means that there is no
  /// preference.
  int64_t unit = 0, line = 0;
};

/// A matmul and elementwise work on its result, as the library computes them
/// and as one generated kernel would.
struct MatmulKernel {
  /// Why there is no generated kernel for it; empty if there is one.
  std::string reason;
  /// The predicted times of the kernel, and of the library's call with a kernel
  /// after it.
  double seconds = 0, librarySeconds = 0;
};

/// How losses over many rows are computed in chunks (--ingot-chunk-loss).
struct LossChunks {
  /// Whether only a memory budget is reason enough.
  bool onlyForMemory = false;
  /// The least number of rows of a chunk. On a CPU it depends on no machine:
  /// chunks determine the order in which gradients are summed.
  int64_t minRows = 256;
};

/// How a target multiplies matrices of 8-bit floats in memory.
struct Float8Matmuls {
  /// Whether the dimension that is summed has to be the last one of both.
  bool sumsLastDim = false;
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
  /// Regular expression of nodes whose precision is not reduced: see
  /// --ingot-assign-precision.
  std::string keepFp32;
  /// Whether normalizations may become parts of convolutions of the library.
  bool fusesConvolutions = true;
  /// Whether more is changed than what the target has no form for: not at -O0,
  /// where all is done as ops say it.
  bool optimizes = true;
};

/// Machine code of kernels for a device with a module format of its own; empty
/// where kernels are part of the host's object.
struct DeviceCode {
  /// The machine code; empty if there is no assembler on this machine.
  std::string binary;
  /// The assembly text (PTX), which drivers can compile for later architectures
  /// too.
  std::string text;
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
  // Library calls
  //===--------------------------------------------------------------------===//

  /// Returns whether an entry point executes `call`, and the resources that it
  /// then needs.
  virtual LibrarySupport getSupport(LibraryCall call) const = 0;
  /// Memory in bytes that the arena holds for an op while it runs, apart from
  /// its operands and results: scratch of a library call, alone or as the root
  /// of an epilogue fusion, and of the kernels that code generation makes of a
  /// fusion or call. The op that starts a collective keeps it until the wait.
  /// Nothing is added to the arena after it is planned.
  virtual int64_t getScratchBytes(mlir::Operation *op) const;
  /// Memory in bytes outside of the arena that a collective needs for each
  /// rank, whose number is known when a trainer starts.
  virtual int64_t getBytesOfRank(mlir::Operation *op) const { return 0; }
  /// Returns the alignment in bytes of every tensor and of all scratch, a
  /// multiple of INGOT_ALIGNMENT.
  virtual int64_t getAlignment() const;
  /// Returns whether attention of this element type can be a library call at
  /// all.
  virtual bool hasAttention(mlir::Type element) const = 0;
  /// Returns why an attention cannot be a library call; empty if it can.
  virtual std::string refuseAttention(const AttentionQuery &query) const;
  /// Returns how the target multiplies matrices of 8-bit floats, those that are
  /// no parameters with scales of this layout; nothing if it has no such
  /// matmuls, so that numbers are only rounded to 8 bits. Where it has them
  /// with other scales, or on other architectures, the error says so.
  virtual llvm::Expected<std::optional<Float8Matmuls>>
  getFloat8Matmuls(ScaleLayout layout) const;
  /// Returns whether a convolution is fastest with channels as the last
  /// dimension.
  virtual bool prefersChannelsLast(LibraryCall call) const = 0;
  /// Returns whether filters are permuted with the tensors that they are
  /// applied to.
  virtual bool permutesFilters() const { return false; }
  virtual RowAlignment getRowAlignment(mlir::Type element) const;
  virtual LossChunks getLossChunks(mlir::Type element) const;

  //===--------------------------------------------------------------------===//
  // Kernels
  //===--------------------------------------------------------------------===//

  /// Returns the library whose epilogues are the only ones that matmuls may
  /// have; null where generated code can be the epilogue.
  virtual const EpilogueLibrary *getEpilogueLibrary() const { return nullptr; }
  /// Describes the generated kernel for a matmul whose epilogue reads
  /// `readBytes` besides the product, and writes `writtenBytes`; 0 where there
  /// is no epilogue. Asked only where there is a library of epilogues.
  virtual MatmulKernel describeMatmulKernel(LibraryCall call, int64_t readBytes,
                                            int64_t writtenBytes) const;
  /// Returns whether generated kernels distribute one reduction over all
  /// threads and merge partial results, so that the graph need not split it.
  virtual bool splitsReductions() const { return false; }
  /// Returns whether each element of a generated loop computes anew what the
  /// elements of its column have in common.
  virtual bool repeatsColumns() const { return false; }
  /// Returns whether generated kernels compute matrices in tiles, which they
  /// write in two orders and reduce (`tile` fusions).
  virtual bool hasTiles() const { return false; }
  /// Returns how many copies of a function's inputs the host stages for it; 0
  /// where functions read the host's memory.
  virtual int64_t getStagingBlocks() const { return 0; }
  /// Returns whether several threads share a row of a kernel over rows. If not,
  /// each pass over a row ends before the next one begins.
  virtual bool sharesRows() const { return false; }
  /// Returns whether a generated kernel over rows may also add up its rows, to
  /// an element for each column.
  virtual bool sumsRows(int64_t /*rows*/, int64_t /*length*/) const {
    return false;
  }
  /// Returns how many streams of operations run at the same time, apart from
  /// exchanges between ranks; 1 where operations are executed in order.
  virtual int64_t getStreams() const { return 1; }
  /// Returns whether an operation may run at the same time as others.
  virtual bool canRunBeside(mlir::Operation *) const { return true; }

  //===--------------------------------------------------------------------===//
  // Passes and code
  //===--------------------------------------------------------------------===//

  /// Adds the passes that the target needs at a point of the pipeline. The pass
  /// manager is that of a function (`func.func`).
  virtual void addLegalization(mlir::OpPassManager &functions,
                               LegalizationPoint point,
                               const LegalizationOptions &options) const;
  /// Adds the passes from placed steps to kernels in the form that
  /// emitDeviceCode() and the code generation for the host expect; `level` is
  /// that of -O0 to -O3.
  virtual void addKernelPipeline(mlir::OpPassManager &manager,
                                 unsigned level) const = 0;
  /// Adds the first of those passes: from placed steps to launches of device
  /// functions that are still structured. None where kernels run on the host.
  virtual void addDevicePipeline(mlir::OpPassManager &manager) const;
  /// Removes the GPU kernels from the module and compiles them.
  virtual llvm::Expected<DeviceCode>
  emitDeviceCode(mlir::ModuleOp module) const;
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
