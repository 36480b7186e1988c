// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A copy of the state at the end of a step, from which a checkpoint is written
// while training goes on.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_STATE_SNAPSHOT_H
#define INGOT_RUNTIME_TRAINER_STATE_SNAPSHOT_H

#include "runtime/checkpoint/SafeTensors.h"
#include "runtime/core/Memory.h"
#include "runtime/trainer/loop/Session.h"

#include <map>
#include <string>

namespace ingot::runtime {

class Snapshot {
public:
  /// Copies the bytes of tensors that are in memory, and of the states that
  /// others are split into, with all threads. The views in `tensors` become
  /// views of the copy, which is valid until the next call.
  void take(const Session &session, SafeTensors &tensors);

private:
  /// Kept from one checkpoint to the next: new memory would cost more than the
  /// copy.
  Block block;
};

/// Copies with all threads of the session's device.
struct CopyRange {
  char *to;
  const char *from;
  int64_t bytes;
};
void copyAll(const Session &session, const std::vector<CopyRange> &ranges);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_STATE_SNAPSHOT_H
