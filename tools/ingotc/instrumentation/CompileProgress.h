// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Shows the progress of a compilation that takes more than a few seconds on a
// terminal.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_INSTRUMENTATION_COMPILEPROGRESS_H
#define INGOT_TOOLS_INGOTC_INSTRUMENTATION_COMPILEPROGRESS_H

#include "mlir/Pass/PassInstrumentation.h"
#include "runtime/core/console/Console.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace ingot {

/// Redraws the line while it lives, from a thread of its own; does nothing
/// where stderr is no terminal. Its functions may be called from any thread.
class CompileProgress {
public:
  explicit CompileProgress(bool isQuiet);
  ~CompileProgress();
  CompileProgress(const CompileProgress &) = delete;
  CompileProgress &operator=(const CompileProgress &) = delete;

  /// Says what is done from now on.
  void begin(std::string work);
  /// Removes the line, for other output; it comes back later.
  void clear();
  /// Says which pass runs.
  std::unique_ptr<mlir::PassInstrumentation> createInstrumentation();

private:
  void redraw();

  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  runtime::Console console;
  std::mutex mutex;
  std::condition_variable ended;
  std::string current;
  bool isEnding = false;
  std::thread thread;
};

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_INSTRUMENTATION_COMPILEPROGRESS_H
