// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The objects that all parts of a run use, and where a run starts.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_RUN_RUNCONTEXT_H
#define INGOT_RUNTIME_TRAINER_RUN_RUNCONTEXT_H

#include "runtime/checkpoint/CheckpointInfo.h"
#include "runtime/trainer/options/Options.h"
#include "runtime/trainer/session/Session.h"

#include <cstdint>
#include <optional>

namespace ingot::runtime {

class Communicator;
class Console;
class Outcome;
class StopRequest;

/// The objects that a run is given. They live longer than its parts, which
/// copy this struct.
struct RunContext {
  Session &session;
  /// The options in force: a resumed run changes them to what it inherits.
  Options &options;
  Console &console;
  Communicator &ranks;
  /// The ranks along data, which have samples of their own. Ranks along other
  /// axes have the samples of one of these.
  Communicator &dataRanks;
  Outcome &outcome;
  const StopRequest &stop;

  const Manifest &getManifest() const { return session.getManifest(); }
};

/// Where a run starts: at its first step, or where a checkpoint ended.
struct RunStart {
  /// The steps that were taken before.
  int64_t step = 0;
  /// The seed and whether samples are shuffled, which a resumed run inherits.
  int64_t seed = 0;
  bool shuffle = true;
  /// The samples and the settings of the run that is resumed; 0 and nothing
  /// without one.
  int64_t samples = 0;
  std::optional<RunSettings> settings = std::nullopt;
  /// The number of earlier steps that loss scaling skipped.
  int64_t skipped = 0;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_RUN_RUNCONTEXT_H
