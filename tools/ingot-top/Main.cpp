// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingot-top: follows running trainers by their logs.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/console/Answer.h"
#include "runtime/core/console/Console.h"
#include "tools/ingot-top/RunTable.h"
#include "tools/support/CommandLine.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <poll.h>
#include <string_view>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

using namespace ingot;
using namespace ingot::runtime;
namespace fs = std::filesystem;

static volatile std::sig_atomic_t isStopped = 0;

/// Shows the cursor, and what was on the terminal before.
static constexpr std::string_view kLeave = "\033[?25h\033[?1049l";

namespace {

/// The part of a terminal that programs draw on; what was there is back at the
/// end.
class Screen {
public:
  Screen() : isTerminal(isatty(STDOUT_FILENO) != 0) {
    const char *kind = std::getenv("TERM");
    if (kind && std::string_view(kind) == "dumb")
      isTerminal = false;
  }
  ~Screen() {
    if (isOpen)
      // A terminal that has gone needs no mending.
      if (write(STDOUT_FILENO, kLeave.data(), kLeave.size()) < 0)
        return;
  }

  bool isATerminal() const { return isTerminal; }
  /// Shows lines; false if nobody reads them any more.
  bool show(std::vector<std::string> lines);
  size_t getWidth() const { return getSize().ws_col; }

private:
  winsize getSize() const {
    winsize size{};
    if (!isTerminal || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
      return {};
    return size;
  }

  bool isTerminal, isOpen = false;
};

/// The keys that are pressed, without waiting for the end of a line. The
/// terminal is as it was at the end.
class Keys {
public:
  Keys();
  Keys(const Keys &) = delete;
  Keys &operator=(const Keys &) = delete;
  ~Keys() {
    if (isOpen)
      (void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
  }

  /// Waits; a signal ends the wait. Returns whether `q` was pressed.
  bool wait(double seconds);

private:
  termios before{};
  bool isOpen = false;
};

/// The runs that words of the command line name, also those that begin later.
class Runs {
public:
  explicit Runs(std::vector<std::string> words) : words(std::move(words)) {}

  void update();
  std::vector<NamedRun> list() const;

private:
  void addFolder(const std::string &folder);

  std::vector<std::string> words;
  /// By path.
  std::map<std::string, RunLog> logs;
};

} // namespace

bool Screen::show(std::vector<std::string> lines) {
  std::string text;
  if (!isTerminal) {
    for (const std::string &line : lines)
      text += line + "\n";
    return printAnswer(text);
  }
  size_t rows = getSize().ws_row;
  if (rows > 1 && lines.size() > rows) {
    size_t left = lines.size() - (rows - 1);
    lines.resize(rows - 1);
    lines.push_back("and " + std::to_string(left) + " more");
  }
  if (!isOpen)
    text = "\033[?1049h\033[?25l";
  isOpen = true;
  text += "\033[H";
  for (size_t i = 0; i < lines.size(); ++i)
    text += (i ? "\r\n" : "") + lines[i] + "\033[K";
  return printAnswer(text + "\033[J");
}

static bool isFolder(const std::string &path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

void Runs::addFolder(const std::string &folder) {
  // A folder of runs has folders with a log each.
  constexpr int deepest = 2;
  std::error_code problem;
  fs::recursive_directory_iterator entry(
      folder, fs::directory_options::skip_permission_denied, problem);
  for (fs::recursive_directory_iterator end; !problem && entry != end;
       entry.increment(problem)) {
    if (entry.depth() >= deepest)
      entry.disable_recursion_pending();
    std::error_code ignored;
    std::string path = entry->path().string();
    if (entry->path().extension() == ".jsonl" &&
        entry->is_regular_file(ignored))
      logs.try_emplace(path, path);
  }
}

void Runs::update() {
  for (const std::string &word : words)
    if (isFolder(word))
      addFolder(word);
    else
      logs.try_emplace(word, word);
  for (auto &[path, log] : logs)
    log.update();
}

std::vector<NamedRun> Runs::list() const {
  std::vector<NamedRun> named;
  for (const auto &[path, log] : logs) {
    // Other files of that kind are no logs.
    if (log.isEmpty())
      continue;
    std::string name = path;
    for (const std::string &word : words)
      if (words.size() == 1 && isFolder(word))
        name = fs::path(path).lexically_relative(word).string();
    if (name.ends_with(".jsonl"))
      name.resize(name.size() - 6);
    named.emplace_back(name, &log);
  }
  return named;
}

Keys::Keys() {
  // A program in the background would be stopped for it.
  if (tcgetpgrp(STDIN_FILENO) != getpgrp() ||
      tcgetattr(STDIN_FILENO, &before) != 0)
    return;
  termios changed = before;
  changed.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  changed.c_cc[VMIN] = 0;
  changed.c_cc[VTIME] = 0;
  isOpen = tcsetattr(STDIN_FILENO, TCSANOW, &changed) == 0;
}

bool Keys::wait(double seconds) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(seconds));
  while (true) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - Clock::now());
    if (left.count() <= 0)
      return false;
    pollfd input{isOpen ? STDIN_FILENO : -1, POLLIN, 0};
    int ready = poll(&input, 1, static_cast<int>(left.count()) + 1);
    if (ready < 0)
      return false;
    if (ready == 0)
      continue;
    char keys[64];
    ssize_t count = read(STDIN_FILENO, keys, sizeof(keys));
    // A terminal that has gone has no more of them.
    if (count <= 0)
      isOpen = false;
    for (ssize_t i = 0; i < count; ++i)
      if (keys[i] == 'q' || keys[i] == 'Q')
        return true;
  }
}

static void run(int argc, char **argv) {
  CLI::App app("Shows the runs whose logs (TRAINER --log FILE.jsonl) are in a "
               "folder, again every second on a terminal until q is pressed, "
               "else once.",
               "ingot-top");
  app.set_version_flag("--version", "ingot-top " INGOT_VERSION);
  std::vector<std::string> words;
  double interval = 1;
  int64_t count = 0;
  app.add_option("DIR", words,
                 "folders with logs, which may be in folders of "
                 "their own, or logs")
      ->required();
  app.add_option("--interval", interval, "seconds between two updates")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  app.add_option("--count", count, "end after this number of updates")
      ->check(runtime::atLeast(1));
  if (!parseCommandLine(app, argc, argv))
    return;
  for (const std::string &word : words) {
    std::error_code problem;
    fs::file_status status = fs::status(word, problem);
    if (!fs::exists(status))
      throw badInput(word,
                     fs::status_known(status)
                         ? "does not exist"
                         : "cannot be read: " + problem.message(),
                     "name a folder that trainers write logs to, or a log");
    if (!fs::is_directory(status) && !fs::is_regular_file(status))
      throw badInput(word, "is neither a folder nor a regular file",
                     "name a folder that trainers write logs to, or a log");
  }
  struct sigaction action{};
  action.sa_handler = [](int) { isStopped = 1; };
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    (void)sigaction(signal, &action, nullptr);
  action.sa_handler = [](int) {};
  (void)sigaction(SIGWINCH, &action, nullptr);
  (void)std::signal(SIGPIPE, SIG_IGN);
  Screen screen;
  Keys keys;
  if (!screen.isATerminal() && count == 0)
    count = 1;
  Runs runs(words);
  for (int64_t i = 0; !isStopped && (count == 0 || i < count); ++i) {
    if ((i && keys.wait(interval)) || isStopped)
      break;
    runs.update();
    std::vector<NamedRun> named = runs.list();
    std::vector<std::string> lines =
        named.empty()
            ? std::vector<std::string>{"no run has logged a step yet"}
            : makeTable(named, screen.getWidth(), screen.isATerminal());
    if (!screen.show(std::move(lines)))
      break;
  }
}

int main(int argc, char **argv) {
  Console console;
  return runProgram(console, [&] {
    run(argc, argv);
    return 0;
  });
}
