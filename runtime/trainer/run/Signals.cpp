// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/run/Signals.h"

#include <csignal>
#include <utility>

using namespace ingot::runtime;

static constexpr std::pair<int, const char *> kWatched[] = {
    {SIGINT, "SIGINT"},   {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"},
    {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"}, {SIGALRM, "SIGALRM"},
    {SIGXCPU, "SIGXCPU"},
};

static volatile std::sig_atomic_t received = 0, wasInterrupted = 0,
                                  wasTerminated = 0;

static void note(int signal) {
  if (received == 0)
    received = signal;
  if (signal != SIGINT && signal != SIGTERM)
    return;
  volatile std::sig_atomic_t &before =
      signal == SIGINT ? wasInterrupted : wasTerminated;
  if (before) {
    std::signal(signal, SIG_DFL);
    (void)std::raise(signal);
  }
  before = 1;
}

void ingot::runtime::ignoreFileSignals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void Signals::watch() {
  for (auto [number, name] : kWatched) {
    struct sigaction action{};
    if (sigaction(number, nullptr, &action) == 0 &&
        action.sa_handler == SIG_IGN)
      continue;
    action = {};
    action.sa_handler = note;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, nullptr);
  }
}

int Signals::getSignal() const { return received; }

const char *Signals::getName() const {
  for (auto [number, name] : kWatched)
    if (received == number)
      return name;
  return nullptr;
}

const char *Signals::getTermination() const {
  return wasTerminated ? "SIGTERM" : wasInterrupted ? "SIGINT" : nullptr;
}
