// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// SIGINT and SIGTERM ask a run to end after the step it is in.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_LOOP_SIGNALS_H
#define INGOT_RUNTIME_TRAINER_LOOP_SIGNALS_H

namespace ingot::runtime {

/// Starts to handle signals: the first one is recorded, a second one ends the
/// process.
void watchSignals();

/// Returns the name of the received signal, or null.
const char *getReceivedSignal();

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_LOOP_SIGNALS_H
