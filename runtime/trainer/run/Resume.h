// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The settings that a resumed run inherits from the one that saved the
// checkpoint.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_RUN_RESUME_H
#define INGOT_RUNTIME_TRAINER_RUN_RESUME_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/trainer/options/Options.h"

namespace ingot::runtime {

class Console;

/// Gives options that the command line does not have the values of the
/// checkpoint's run, and says in one note which ones differ, and which ones are
/// followed beyond those of the optimizer.
void inheritSettings(Options &options, const Manifest &manifest,
                     const RunSettings &saved, Console &console);

/// Says what else differs: how trainers were compiled, as far as it decides
/// what is trained, the threads of steps, the samples of a step with another
/// number of ranks, the length of a schedule, and a run that has nothing left
/// to do, which one without an end has not.
void compareRuns(const RunSettings &now, const RunSettings &saved, int64_t step,
                 bool isEndless, Console &console);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_RUN_RESUME_H
