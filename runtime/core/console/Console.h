// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A trainer's output on the terminal. Results go to stdout, everything about
// the run to stderr, without the control characters that names from files may
// have. Color and the progress line are for interactive terminals
// only.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_CONSOLE_CONSOLE_H
#define INGOT_RUNTIME_CORE_CONSOLE_CONSOLE_H

#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace ingot::runtime {

class Error;

class Console {
public:
  Console();
  /// Passes each line, without its end, to `sink` instead of stderr.
  explicit Console(std::function<void(const std::string &)> sink);

  /// Whether stderr is a terminal that can redraw a line.
  bool isInteractive() const { return interactive; }

  /// Prints errors only from now on, because another rank prints the rest.
  void silence() { silent = true; }

  /// Prints a line, or several, on stderr.
  void line(std::string_view text);
  /// Prints `note: TEXT`, once per text and run.
  void noteOnce(const std::string &text);
  /// Redraws the progress line; does nothing unless interactive.
  void progress(std::string_view text);
  void clearProgress();
  /// Prints the problem as `warning: WHERE: WHAT`, on every rank.
  void warn(const Error &problem);
  void print(const Error &error);

private:
  void write(const std::string &text);

  std::function<void(const std::string &)> sink;
  bool interactive, color, progressShown = false, silent = false;
  std::set<std::string> said;
};

/// Returns what `work`, all of a program, returns; or prints what it throws and
/// returns the exit code that belongs to it. `memoryHint` is the hint where
/// memory runs out.
int runProgram(Console &console, const std::function<int()> &work,
               const std::string &memoryHint = "free memory");

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_CONSOLE_CONSOLE_H
