// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Signals that end processes by default ask a run to end after the step it is
// in.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_RUN_SIGNALS_H
#define INGOT_RUNTIME_TRAINER_RUN_SIGNALS_H

#include "runtime/trainer/run/StopRequest.h"

namespace ingot::runtime {

/// Turns signals about files and pipes into errors of the calls that they come
/// from: a reader of the output that has gone away ends no run.
void ignoreFileSignals();

/// A run of a process that handles signals: the first one that was received
/// asks the run to stop. SIGINT and SIGTERM, which launchers send before they
/// kill a process, limit how long it waits.
class Signals : public StopRequest {
public:
  /// Starts to handle signals. SIGINT or SIGTERM that come a second time end
  /// the process; schedulers and terminals repeat others. Those that are
  /// ignored, as under nohup, stay ignored.
  void watch();

  int getSignal() const override;
  const char *getName() const override;
  const char *getTermination() const override;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_RUN_SIGNALS_H
