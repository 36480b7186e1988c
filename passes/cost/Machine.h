//===----------------------------------------------------------------------===//
//
// The machine that a trainer is planned for: rates, bandwidths and latencies.
// Travels as a dictionary on the module (kMachineAttr), so that passes that ask
// depend on the module alone; as JSON in the file of `ingotc --machine`
// (docs/machine.md).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_COST_MACHINE_H
#define INGOT_PASSES_COST_MACHINE_H

#include "dialects/ingot/ir/Interfaces.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/abi/Scratch.h"
#include "llvm/Support/Error.h"

namespace ingot {

/// On a module: the machine, a dictionary of its fields.
inline constexpr llvm::StringLiteral kMachineAttr = "ingot.machine";

struct Machine {
  double threads = 1;
  /// Operations per second of all threads, by kind of work and element type.
  double vectorF32 = 8e9, vectorF64 = 4e9;
  double matmulF32 = 60e9, matmulF64 = 2e9, matmulBf16 = 60e9, matmulF16 = 60e9;
  double convolutionF32 = 40e9, convolutionF64 = 2e9, convolutionBf16 = 40e9,
         convolutionF16 = 40e9;
  /// Attention; in f64 it is products and a softmax.
  double attentionF32 = 25e9, attentionBf16 = 25e9, attentionF16 = 25e9;
  /// 1 if contractions in half precision need no conversion.
  double multipliesBf16 = 0, multipliesF16 = 0;
  /// 1 if matrix products that do need one read halves as they are stored.
  double packsHalves = 0;
  /// 1 if matrix products are computed on tile units: of half precision, and of
  /// f32 in parts.
  double tilesHalves = 0, tilesF32 = 0;
  /// Bytes per second of all threads; data up to `cacheBytes` stays in cache.
  double memoryBandwidth = 12e9, cacheBandwidth = 60e9, cacheBytes = 1 << 20;
  /// On a device: bytes under which libraries choose their algorithms there; 0
  /// on a CPU.
  double deviceWorkspaceBytes = 0;
  /// Seconds to start a kernel or library call.
  double launchSeconds = 4e-6;
  /// Between ranks: bytes per second and seconds a message.
  double linkBandwidth = 3e9, linkSeconds = 20e-6;

  /// Built-in figures for a processor with the features (LLVM's names).
  static Machine byFeatures(llvm::ArrayRef<std::string> features,
                            unsigned threads);
  /// Built-in figures for a GPU of NVIDIA's data-centre line.
  static Machine ofDevice();
  /// The machine of a module; the default one where it names none.
  static Machine of(mlir::ModuleOp module);
  /// Sets the fields that a JSON object has; unknown names and values that are
  /// not positive numbers are errors.
  llvm::Error readJson(llvm::StringRef text);
  std::string toJson() const;
  mlir::DictionaryAttr toAttr(mlir::MLIRContext *context) const;

  double getRate(WorkKind kind, mlir::Type element) const;
  /// How long so many bytes take, from memory or from the caches.
  double getMoveSeconds(double bytes) const {
    return bytes / (bytes <= cacheBytes ? cacheBandwidth : memoryBandwidth);
  }
  /// Whether functions run in a memory that the host does not share.
  bool isDevice() const { return deviceWorkspaceBytes != 0; }
  abi::ScratchMachine getScratchMachine() const;
};

} // namespace ingot

#endif // INGOT_PASSES_COST_MACHINE_H
