// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/machine/Process.h"

#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/machine/ControlGroups.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <initializer_list>
#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace ingot::runtime;

extern char **environ;

namespace {
/// Two ends of a pipe, which are closed at the end.
struct Pipe {
  explicit Pipe(const std::string &where) {
    if (pipe2(ends, O_CLOEXEC) != 0)
      throw failure(where, "cannot make a pipe: " + describeErrno(),
                    "free memory or file descriptors");
  }
  ~Pipe() {
    for (int end : ends)
      if (end >= 0)
        close(end);
  }
  void closeWriting() { close(std::exchange(ends[1], -1)); }
  int ends[2] = {-1, -1};
};
} // namespace

static std::vector<char *> getPointers(const std::vector<std::string> &words) {
  std::vector<char *> pointers;
  for (const std::string &word : words)
    pointers.push_back(const_cast<char *>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

ProcessOutput
ingot::runtime::runProcess(const std::string &program,
                           const std::vector<std::string> &arguments,
                           const std::vector<std::string> &variables,
                           bool isQuiet, const std::string &where) {
  std::vector<std::string> environment = variables;
  for (char **entry = environ; *entry; ++entry) {
    std::string_view text = *entry;
    bool isReplaced = std::any_of(
        variables.begin(), variables.end(), [&](std::string_view variable) {
          return text.starts_with(variable.substr(0, variable.find('=') + 1));
        });
    if (!isReplaced)
      environment.emplace_back(text);
  }
  Pipe pipe(where);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe.ends[1], STDOUT_FILENO);
  if (isQuiet)
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
                                     O_WRONLY, 0);
  pid_t child = 0;
  int error = posix_spawn(&child, program.c_str(), &actions, nullptr,
                          getPointers(arguments).data(),
                          getPointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw failure(where, "cannot run " + program + ": " + std::strerror(error),
                  "run it by itself to see more");
  pipe.closeWriting();
  ProcessOutput output;
  char buffer[4096];
  while (true) {
    ssize_t size = read(pipe.ends[0], buffer, sizeof(buffer));
    if (size > 0)
      output.text.append(buffer, static_cast<size_t>(size));
    else if (size == 0 || errno != EINTR)
      break;
  }
  while (waitpid(child, &output.status, 0) < 0 && errno == EINTR)
    continue;
  return output;
}

/// Returns the first of these fields that /proc/cpuinfo has.
static std::string
readProcessorField(std::initializer_list<std::string_view> fields) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  for (std::string_view field : fields) {
    file.clear();
    file.seekg(0);
    while (std::getline(file, line)) {
      size_t colon = line.find(": ");
      if (line.starts_with(field) && colon != std::string::npos)
        return line.substr(colon + 2);
    }
  }
  return "";
}

std::string ingot::runtime::describeProcessors() {
  // AArch64 has numbers for the name.
  std::string name = readProcessorField({"model name", "CPU part"});
  std::replace(name.begin(), name.end(), '\t', ' ');
  return (name.empty() ? "CPU" : name) + " x" +
         std::to_string(countProcessors());
}

std::string ingot::runtime::describeHardware() {
  return describeProcessors() + " of " +
         std::to_string(std::thread::hardware_concurrency()) + ", " +
         readProcessorField({"flags", "Features"});
}
