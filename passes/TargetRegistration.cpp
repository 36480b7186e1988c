// SPDX-License-Identifier: Apache-2.0

#include "passes/TargetRegistration.h"

#include "passes/targets/cpu/CpuTarget.h"
#include "passes/targets/cuda/target/CudaOptions.h"
#include "passes/targets/cuda/target/CudaTarget.h"
#include "passes/targets/emulator/EmulatorTarget.h"

void ingot::registerIngotTargets() {
  registerCpuTarget();
  registerCudaTarget();
  registerEmulatorTarget();
  registerCudaOptions();
}
