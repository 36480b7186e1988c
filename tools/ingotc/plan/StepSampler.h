// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Compiles steps of a model with few of its blocks, to be replayed.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_PLAN_STEPSAMPLER_H
#define INGOT_TOOLS_INGOTC_PLAN_STEPSAMPLER_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/plan/Estimate.h"
#include "tools/ingotc/options/CompilerOptions.h"

#include <map>

namespace ingot {

/// The model is imported once for each batch; each step is compiled from a copy
/// of its first blocks.
class StepSampler {
public:
  using Words = std::vector<std::string>;

  /// `words`: the command line without what is planned.
  explicit StepSampler(Words words);

  /// How many blocks of each run are compiled: all of up to `more`, else `few`,
  /// and again `more`.
  struct Size {
    int64_t few, more;
  };
  static constexpr Size kSmall = {2, 3}, kLarge = {3, 5};

  /// Compiles the step for the command line with further options at its end.
  /// Calls take the time of the target's model, on a GPU of gpu_model. Throws
  /// runtime::Error.
  BlockTraces compile(const Words &more, Size size);

  /// Returns the memory of the GPU that is the target; 0 for other targets.
  /// Throws runtime::Error.
  double getDeviceBytes(const Words &more) const;

  /// Parses the command line with further options at its end.
  CompilerOptions parse(const Words &more) const;

private:
  struct Reduced {
    mlir::OwningOpRef<mlir::ModuleOp> few;
    /// Models with more blocks of one run, and how often what they add is
    /// added.
    std::vector<std::pair<mlir::OwningOpRef<mlir::ModuleOp>, double>> more;
  };
  const Reduced &import(const CompilerOptions &options, Size size);
  /// Runs the compiler's passes on a copy of the module up to placed steps.
  Trace trace(mlir::ModuleOp module, const CompilerOptions &options);
  /// Throws the first error that passes have reported.
  [[noreturn]] void throwReported();

  Words words;
  mlir::MLIRContext context;
  mlir::ScopedDiagnosticHandler handler;
  std::string reported;
  bool blamesOption = false;
  std::map<std::tuple<int64_t, int64_t>, Reduced> imported;
};

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_PLAN_STEPSAMPLER_H
