// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The description of a run: the model, the machine, and what its steps cost.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_RUN_RUNHEADER_H
#define INGOT_RUNTIME_TRAINER_RUN_RUNHEADER_H

#include "runtime/core/Manifest.h"
#include "runtime/observe/StepStatistics.h"

#include <string>

namespace ingot::runtime {

/// Returns one line on the model, the release, the machine and what the run
/// does, like its length.
std::string describeRun(const Manifest &manifest, const std::string &device,
                        int64_t ranks, const std::string &what);

/// Returns what a step costs by the compiler's plan.
StepCost getStepCost(const Manifest &manifest, size_t variant, int64_t ranks);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_RUN_RUNHEADER_H
