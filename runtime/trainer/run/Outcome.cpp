// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/run/Outcome.h"

#include "runtime/core/console/Console.h"

using namespace ingot::runtime;

bool Outcome::attempt(const std::function<void()> &write) {
  try {
    write();
    return true;
  } catch (const Error &error) {
    add(error);
    return false;
  }
}

void Outcome::warn(const Error &problem) { console.warn(problem); }

void Outcome::add(const Error &problem) {
  warn(problem);
  if (!first)
    first = problem;
}

int Outcome::getStatus() const {
  constexpr int bySignal = 128;
  if (first)
    return static_cast<int>(first->getCode());
  return signal ? bySignal + signal : static_cast<int>(ExitCode::Done);
}

void Outcome::throwProblem() const {
  if (first)
    throw *first;
}
