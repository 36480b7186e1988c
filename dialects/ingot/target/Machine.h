// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The machine that a trainer is planned for: throughputs, bandwidths and
// latencies. A dictionary attribute of the module holds them (kMachineAttr), so
// that passes depend on the module only; the file of `ingotc --machine` holds
// the same as JSON (docs/machine.md).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_TARGET_MACHINE_H
#define INGOT_DIALECTS_INGOT_TARGET_MACHINE_H

#include "dialects/ingot/ir/Interfaces.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <optional>

namespace ingot {

/// The attribute of a module that holds the machine, a dictionary of its
/// fields.
inline constexpr llvm::StringLiteral kMachineAttr = "ingot.machine";

/// The figures that only a GPU has, for its libraries and its cost model
/// (passes/cost/gpu); 0 where they are not known.
struct GpuMachine {
  /// Workspace in bytes within which libraries choose algorithms.
  double deviceWorkspaceBytes = 0;
  /// Multiprocessors, bytes of memory, and seconds from a load to its data.
  double multiprocessors = 0, memoryBytes = 0, latencySeconds = 0;
  /// Operations per second of f32 matmuls that are rounded to TF32.
  double matmulTf32 = 0;
  /// The rates of the data sheet, of which a step's utilization is a share.
  double peakF32 = 0, peakTf32 = 0, peakBf16 = 0, peakF8 = 0;
  /// Seconds that an output tile of a matmul, and of attention, takes apart
  /// from its operations.
  double tileSeconds = 0, attentionTileSeconds = 0;
  /// The rate of matmuls by generated kernels as a share of the library's; 0
  /// where there are none.
  double generatedMatmulShare = 0;
  /// The throughput of attention's gradient as a share of attention's, and of
  /// the gradient that sums in a fixed order as a share of the other one's.
  double attentionGradientShare = 0, attentionOrderedShare = 0;
  /// The clock of tensor cores in long runs, under the power limit, as a share
  /// of that in short ones.
  double sustainedShare = 0;
  /// The part of attention's time with 128 columns that fewer columns do not
  /// reduce.
  double attentionSoftmaxShare = 0;
  /// The multiprocessors that move data at the memory's rate, as a share of
  /// all, and what kernels that run at the same time get together of
  /// multiprocessors and memory, as a share of what one kernel gets.
  double streamingShare = 0, concurrentShare = 0;
};

struct Machine {
  double threads = 1;
  /// Operations per second of all threads, by kind of work and element type.
  double vectorF32 = 8e9, vectorF64 = 4e9;
  double matmulF32 = 60e9, matmulF64 = 2e9, matmulBf16 = 60e9, matmulF16 = 60e9;
  /// Operations per second in matmuls of 8-bit floats; 0 where they are not
  /// multiplied.
  double matmulF8 = 0;
  double convolutionF32 = 40e9, convolutionF64 = 2e9, convolutionBf16 = 40e9,
         convolutionF16 = 40e9;
  /// Throughput of attention; f64 attention is decomposed into matmuls and a
  /// softmax.
  double attentionF32 = 25e9, attentionBf16 = 25e9, attentionF16 = 25e9;
  /// 1 if 16-bit contractions need no conversion of their operands.
  double multipliesBf16 = 0, multipliesF16 = 0;
  /// 1 if matmuls run on the CPU's tile registers (AMX): in 16-bit precision,
  /// and in fp32 as bf16x3, with each operand as a sum of three bf16 numbers.
  double tilesHalves = 0, tilesF32 = 0;
  /// The time of large fp32 matmuls on vector units by Strassen's algorithm, as
  /// a share of that of sums of products; 0 where it is not known.
  double strassenShare = 0;
  /// Bytes per second of all threads; data up to `cacheBytes` stays in cache.
  double memoryBandwidth = 12e9, cacheBandwidth = 60e9, cacheBytes = 1 << 20;
  /// Seconds to start a kernel or library call.
  double launchSeconds = 4e-6;
  /// The link between ranks: bytes per second, and latency in seconds per
  /// collective.
  double linkBandwidth = 3e9, linkSeconds = 20e-6;
  /// The figures of a GPU; none on a CPU.
  std::optional<GpuMachine> gpu;

  /// Returns the machine of a module; the default one where it names none.
  static Machine of(mlir::ModuleOp module);
  /// Sets the fields that a JSON object has; unknown names and values that are
  /// not positive numbers are errors. `sources` says in words where the values
  /// of fields are from.
  llvm::Error readJson(llvm::StringRef text);
  std::string toJson() const;
  mlir::DictionaryAttr toAttr(mlir::MLIRContext *context) const;

  /// Returns the figures of a GPU; those that are not known on a CPU.
  GpuMachine getGpu() const { return gpu.value_or(GpuMachine()); }
  double getRate(WorkKind kind, mlir::Type element) const;
  /// Returns the time to move `bytes`, from memory or from the caches.
  double getMoveSeconds(double bytes) const {
    return bytes / (bytes <= cacheBytes ? cacheBandwidth : memoryBandwidth);
  }
  /// Returns the time of an exchange in which each rank sends `bytes`.
  double getLinkSeconds(double bytes) const {
    return linkSeconds + bytes / linkBandwidth;
  }
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_TARGET_MACHINE_H
