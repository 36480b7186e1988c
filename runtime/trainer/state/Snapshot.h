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
#include "runtime/trainer/state/DelayedCopy.h"

#include <initializer_list>
#include <thread>

namespace ingot::runtime {

class Snapshot {
public:
  explicit Snapshot(Session &session) : session(session), copy(session) {}
  Snapshot(const Snapshot &) = delete;
  Snapshot &operator=(const Snapshot &) = delete;
  ~Snapshot();

  /// Sets of tensors that are copied together.
  using Sets = std::initializer_list<SafeTensors *>;

  /// Allocates the memory for copies of tensors like these and of `more` bytes,
  /// and makes the system provide it while the first steps run: a page that is
  /// touched first by the copy costs several times what the copy does. Throws
  /// failure.
  void prepare(Sets sets, int64_t more = 0);
  /// Starts to copy the bytes of tensors that are in memory, and of the states
  /// that others are split into (DelayedCopy). The views become views of the
  /// copy, which is valid once the copy is done, until the next call. Throws
  /// failure.
  void take(Sets sets);
  /// Completes the copy, or waits for it (DelayedCopy).
  void finish() { copy.finish(); }
  void wait() const { copy.wait(); }

private:
  void joinToucher();

  Session &session;
  /// Kept from one checkpoint to the next.
  Block block;
  std::thread toucher;
  DelayedCopy copy;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_STATE_SNAPSHOT_H
