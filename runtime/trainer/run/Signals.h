// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Signals that end processes by default ask a run to end after the step it is
// in.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_RUN_SIGNALS_H
#define INGOT_RUNTIME_TRAINER_RUN_SIGNALS_H

namespace ingot::runtime {

/// Turns signals about files and pipes into errors of the calls that they come
/// from: a reader of the output that has gone away ends no run.
void ignoreFileSignals();

/// Starts to handle signals: the first one is recorded. SIGINT or SIGTERM that
/// come a second time end the process; schedulers and terminals repeat others.
/// Those that are ignored, as under nohup, stay ignored.
void watchSignals();

/// Returns the number of the received signal, or 0.
int getReceivedSignal();

/// Returns the name of the received signal, or null.
const char *getReceivedSignalName();

/// Returns the name of the received signal if it is one that a launcher sends
/// before it kills a process, or null.
const char *getTerminationName();

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_RUN_SIGNALS_H
