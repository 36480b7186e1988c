// SPDX-License-Identifier: Apache-2.0

#include "passes/Registration.h"

#include "dialects/exec/Exec.h"
#include "dialects/ingot/ir/Dialect.h"
#include "mlir/IR/DialectRegistry.h"
#include "passes/Pipeline.h"
#include "passes/adapt/Passes.h"
#include "passes/autodiff/Passes.h"
#include "passes/fusion/Passes.h"
#include "passes/graph/Passes.h"
#include "passes/parallel/Passes.h"
#include "passes/partition/Passes.h"
#include "passes/plan/Passes.h"
#include "passes/precision/Passes.h"
#include "passes/schedule/Passes.h"
#include "passes/targets/Passes.h"
#include "passes/targets/cpu/CpuTarget.h"
#include "passes/targets/cpu/Passes.h"
#include "passes/targets/cuda/Passes.h"
#include "passes/targets/cuda/target/CudaTarget.h"
#include "passes/targets/emulator/Passes.h"
#include "passes/targets/host/Passes.h"
#include "passes/verify/Passes.h"

void ingot::registerIngotPasses() {
  registerIngotGraphPasses();
  registerIngotAdaptPasses();
  registerIngotAutodiffPasses();
  registerIngotPrecisionPasses();
  registerIngotParallelPasses();
  registerIngotPartitionPasses();
  registerIngotPlanPasses();
  registerIngotFusionPasses();
  registerIngotSchedulePasses();
  registerIngotTargetsPasses();
  registerIngotTargetsCpuPasses();
  registerIngotTargetsCudaPasses();
  registerIngotTargetsEmulatorPasses();
  registerIngotTargetsHostPasses();
  registerIngotVerifyPasses();
  registerPipelines();
  registerCpuPipelines();
  registerCudaPipelines();
}

void ingot::registerIngotDialects(mlir::DialectRegistry &registry) {
  registry.insert<IngotDialect, exec::ExecDialect>();
  registerIngotTargets();
}
