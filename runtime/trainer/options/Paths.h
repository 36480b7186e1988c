// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The paths among a trainer's options.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_OPTIONS_PATHS_H
#define INGOT_RUNTIME_TRAINER_OPTIONS_PATHS_H

#include "runtime/core/files/OutputPaths.h"
#include "runtime/trainer/options/Options.h"

namespace ingot::runtime {

/// Collects what the run reads and writes, with the trainer's own files among
/// the inputs. `ranks` is the number of ranks, of which each may write files of
/// its own.
OutputPaths collectPaths(const Options &options, const Manifest &manifest,
                         int64_t ranks);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_OPTIONS_PATHS_H
