// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The outcome of a run. An output that cannot be written is a warning at once
// and an error at the end, so that it takes no other output with it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_RUN_OUTCOME_H
#define INGOT_RUNTIME_TRAINER_RUN_OUTCOME_H

#include "runtime/core/Error.h"

#include <functional>
#include <optional>

namespace ingot::runtime {

class Console;

class Outcome {
public:
  explicit Outcome(Console &console) : console(console) {}

  /// Calls `write`; returns whether it did not throw an Error.
  bool attempt(const std::function<void()> &write);
  /// Prints a problem that may go away.
  void warn(const Error &problem);
  /// Prints and adds a problem that does not end the run.
  void add(const Error &problem);
  /// Records that a signal ended the run.
  void endBySignal(int number) { signal = number; }

  /// Returns the exit status: 0, 1 with a problem, or 128 and the signal.
  int getStatus() const;
  /// Throws the first problem, if there is one.
  void throwProblem() const;

private:
  Console &console;
  std::optional<Error> first;
  int signal = 0;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_RUN_OUTCOME_H
