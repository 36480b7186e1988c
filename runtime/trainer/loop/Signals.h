// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// SIGINT and SIGTERM ask a run to end after the step it is in.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_LOOP_SIGNALS_H
#define INGOT_RUNTIME_TRAINER_LOOP_SIGNALS_H

namespace ingot::runtime {

/// From here on the first signal is noted; a second one ends the process.
void watchSignals();

/// The name of the signal received, or null.
const char *getReceivedSignal();

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_LOOP_SIGNALS_H
