// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The terminal.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/console/Console.h"

#include "runtime/core/Error.h"
#include "runtime/core/Text.h"
#include "runtime/core/machine/Threads.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>
#include <unistd.h>
#include <utility>

using namespace ingot::runtime;

Console::Console() {
  const char *terminal = std::getenv("TERM");
  interactive =
      isatty(STDERR_FILENO) && !(terminal && !std::strcmp(terminal, "dumb"));
  const char *noColor = std::getenv("NO_COLOR");
  color = interactive && !(noColor && *noColor);
}

Console::Console(std::function<void(const std::string &)> sink)
    : sink(std::move(sink)), interactive(false), color(false) {}

void Console::write(const std::string &text) {
  if (!sink) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    return;
  }
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    sink(text.substr(at, end - at));
    at = end + 1;
  }
}

void Console::line(std::string_view text) {
  if (silent)
    return;
  clearProgress();
  write(makePrintable(text, /*keepsLines=*/true) + "\n");
}

void Console::noteOnce(const std::string &text) {
  if (said.insert(text).second)
    line("note: " + shortenMessage(text));
}

void Console::progress(std::string_view text) {
  if (!interactive || silent)
    return;
  std::string whole = "\r\x1b[K" + makePrintable(text);
  std::fwrite(whole.data(), 1, whole.size(), stderr);
  std::fflush(stderr);
  progressShown = true;
}

void Console::clearProgress() {
  if (!progressShown)
    return;
  std::fputs("\r\x1b[K", stderr);
  progressShown = false;
}

void Console::warn(const Error &problem) {
  clearProgress();
  write("warning: " + problem.getWhere() + ": " + problem.getWhat() + "\n");
}

void Console::print(const Error &error) {
  clearProgress();
  std::string text = error.format();
  if (color) {
    constexpr std::string_view label = "error:";
    text = "\x1b[1;31merror:\x1b[0m" + text.substr(label.size());
  }
  write(text);
}

int ingot::runtime::runProgram(Console &console,
                               const std::function<int()> &work,
                               const std::string &memoryHint) {
  try {
    return work();
  } catch (const Error &error) {
    console.print(error);
    return static_cast<int>(error.getCode());
  } catch (const std::bad_alloc &) {
    console.print(failure("memory", "out of memory", memoryHint));
  } catch (const std::system_error &error) {
    bool lacks = error.code() == std::errc::resource_unavailable_try_again;
    console.print(lacks ? lackOfThreads()
                        : failure("internal", error.what(),
                                  "report this with the command line"));
  } catch (const std::exception &error) {
    console.print(
        failure("internal", error.what(), "report this with the command line"));
  }
  return static_cast<int>(ExitCode::Failed);
}
