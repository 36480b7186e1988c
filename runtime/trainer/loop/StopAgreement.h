// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The agreement of ranks after a step: whether one of them was asked to stop,
// and whether all have written their parts of a checkpoint.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_LOOP_STOPAGREEMENT_H
#define INGOT_RUNTIME_TRAINER_LOOP_STOPAGREEMENT_H

#include "runtime/comm/Communicator.h"
#include "runtime/trainer/run/StopRequest.h"

#include <cstdint>
#include <optional>

namespace ingot::runtime {

class Saver;

class StopAgreement {
public:
  StopAgreement(Communicator &ranks, const StopRequest &stop)
      : ranks(ranks), stop(stop) {}

  /// Whether to stop after this step. Ranks agree on it one step late, so that
  /// no rank waits for the others. `saver` is null where there is none, and
  /// `isLast` is whether no step follows. All ranks call it.
  bool shouldStop(Saver *saver, bool isLast);

private:
  Communicator &ranks;
  const StopRequest &stop;
  /// Sums over the ranks, once the exchange has ended.
  struct Sums {
    /// The ranks that were asked to stop, and those that write a checkpoint.
    int32_t stops = 0, writers = 0;
  } sums;
  Communicator::Ticket exchange = 0;
  /// The stage of the save that `writers` is about.
  std::optional<int64_t> stage;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_LOOP_STOPAGREEMENT_H
