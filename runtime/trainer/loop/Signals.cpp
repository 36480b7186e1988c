// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// SIGINT and SIGTERM.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/loop/Signals.h"

#include <csignal>

using namespace ingot::runtime;

static volatile std::sig_atomic_t received = 0;

static void note(int signal) { received = signal; }

void ingot::runtime::watchSignals() {
  struct sigaction action{};
  action.sa_handler = note;
  // The handler is removed after one signal, so that a second one ends the
  // process.
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

const char *ingot::runtime::getReceivedSignal() {
  switch (received) {
  case 0:
    return nullptr;
  case SIGINT:
    return "SIGINT";
  default:
    return "SIGTERM";
  }
}
