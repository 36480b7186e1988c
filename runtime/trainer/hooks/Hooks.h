// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The list of hooks of each kind of run.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_HOOKS_HOOKS_H
#define INGOT_RUNTIME_TRAINER_HOOKS_HOOKS_H

#include "runtime/trainer/hooks/HookSeams.h"
#include "runtime/trainer/hooks/StepHook.h"
#include "runtime/trainer/run/RunContext.h"

#include <cstdint>
#include <optional>

namespace ingot::runtime {

/// Returns the most steps of a run that is only measured; nothing for a run
/// whose weights count.
std::optional<int64_t> countMeasuredSteps(const Options &options);

/// Makes the hooks that the options ask for, in the order in which they are
/// called. Throws usageError.
StepHooks makeHooks(const RunContext &context, const HookSeams &seams);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_HOOKS_HOOKS_H
