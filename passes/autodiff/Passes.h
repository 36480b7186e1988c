// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes from a forward graph to a training step.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_AUTODIFF_PASSES_H
#define INGOT_PASSES_AUTODIFF_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"
#include <memory>

namespace ingot {

#define GEN_PASS_DECL
#include "passes/autodiff/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/autodiff/Passes.h.inc"

/// Options of `--ingot-autodiff`: those of its passes.
struct AutodiffOptions : mlir::PassPipelineOptions<AutodiffOptions> {
  Option<std::string> loss{*this, "loss",
                           llvm::cl::desc("see --ingot-attach-loss"),
                           llvm::cl::init("")};
  Option<std::string> optimizer{*this, "optimizer",
                                llvm::cl::desc("see --ingot-apply-optimizer"),
                                llvm::cl::init("adamw")};
  Option<std::string> noDecay{*this, "no-decay",
                              llvm::cl::desc("see --ingot-apply-optimizer"),
                              llvm::cl::init("")};
  Option<bool> clip{*this, "clip",
                    llvm::cl::desc("see --ingot-apply-optimizer"),
                    llvm::cl::init(false)};
};

/// Attach the loss, differentiate, apply the optimizer.
void buildAutodiffPipeline(mlir::OpPassManager &manager,
                           const AutodiffOptions &options);

/// Registers `--ingot-autodiff`.
void registerAutodiffPipeline();

} // namespace ingot

#endif // INGOT_PASSES_AUTODIFF_PASSES_H
