// SPDX-License-Identifier: Apache-2.0

#include "passes/autodiff/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace ingot;

void ingot::buildAutodiffPipeline(OpPassManager &manager,
                                  const AutodiffOptions &options) {
  manager.addPass(createAttachLoss({options.loss}));
  manager.addPass(createDifferentiate());
  manager.addPass(
      createApplyOptimizer({options.optimizer, options.noDecay, options.clip}));
}

void ingot::registerAutodiffPipeline() {
  PassPipelineRegistration<AutodiffOptions>(
      "ingot-autodiff",
      "Attach a loss, differentiate, apply an optimizer: @forward becomes "
      "@train_step, @eval_step and @predict",
      buildAutodiffPipeline);
}
