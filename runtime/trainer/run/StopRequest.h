// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How a run is asked to stop. The program that drives a run says what asks:
// for trainers, signals.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_RUN_STOPREQUEST_H
#define INGOT_RUNTIME_TRAINER_RUN_STOPREQUEST_H

namespace ingot::runtime {

/// Nobody asks, unless a derived class says so.
class StopRequest {
public:
  virtual ~StopRequest() = default;

  /// Returns the number of the signal that asks the run to stop after the step
  /// under way; 0 for none.
  virtual int getSignal() const { return 0; }
  /// Returns its name; null for none.
  virtual const char *getName() const { return nullptr; }
  /// Returns the name of the signal that limits how long the run waits for
  /// other ranks from now on; null for none.
  virtual const char *getTermination() const { return nullptr; }
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_RUN_STOPREQUEST_H
