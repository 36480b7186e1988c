// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/files/TunedFile.h"

#include "runtime/core/Error.h"
#include "runtime/core/File.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/file.h>
#include <thread>
#include <unistd.h>

using namespace ingot::runtime;

/// The first line of the file. Files without it are not read.
static constexpr std::string_view kHeader = "ingot tuned 1\n";

/// The default path of the file; empty if the user has no home folder.
static std::string getDefaultPath() {
  const char *cache = std::getenv("XDG_CACHE_HOME");
  const char *home = std::getenv("HOME");
  if (cache && *cache)
    return std::string(cache) + "/ingot/tuned.txt";
  return home && *home ? std::string(home) + "/.cache/ingot/tuned.txt" : "";
}

namespace {
/// Waits until no other process holds it, for some seconds: one that is stuck
/// there must not keep others from their work. Unlike FolderLock, which a run
/// holds on its folder from the beginning to the end, it is held for one write,
/// of a file that may be in that folder. Where a file system has no locks,
/// choices of processes that write at the same time may be lost.
class WaitingLock {
public:
  explicit WaitingLock(const std::string &folder)
      : descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    constexpr int attempts = 50;
    for (int i = 0; descriptor >= 0 && i < attempts; ++i) {
      if (flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  WaitingLock(const WaitingLock &) = delete;
  WaitingLock &operator=(const WaitingLock &) = delete;
  ~WaitingLock() {
    if (descriptor >= 0)
      close(descriptor);
  }

private:
  int descriptor;
};
} // namespace

bool ingot::runtime::isTunedFile(std::string_view begin) {
  return begin.starts_with(kHeader);
}

TunedFile::TunedFile(std::string machine, std::string path)
    : machine(std::move(machine)),
      path(path.empty() ? getDefaultPath() : std::move(path)) {
  std::replace(this->machine.begin(), this->machine.end(), '\t', ' ');
  read();
}

/// Adds choices that are not known yet.
void TunedFile::read() {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    return;
  try {
    MappedFile file(path);
    std::string_view text = file.getBytes();
    if (!isTunedFile(text)) {
      isForeign = !text.empty();
      return;
    }
    text.remove_prefix(kHeader.size());
    while (!text.empty()) {
      std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      size_t tab = line.rfind('\t');
      if (tab != std::string_view::npos)
        choices.emplace(line.substr(0, tab), line.substr(tab + 1));
    }
  } catch (const Error &) {
    return;
  }
}

std::string TunedFile::makeWord(std::string name) {
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char c) { return c <= ' ' || c == 0x7f; }, '_');
  return name;
}

std::optional<std::string> TunedFile::find(const std::string &key) const {
  auto found = choices.find(machine + '\t' + key);
  if (found == choices.end())
    return std::nullopt;
  return found->second;
}

void TunedFile::keep(const std::string &key, const std::string &choice) {
  kept[machine + '\t' + key] = choice;
  choices = kept;
  if (path.empty()) {
    problem = "HOME is not set";
    return;
  }
  std::string folder = getDirectory(path);
  std::error_code ignored;
  if (!folder.empty())
    std::filesystem::create_directories(folder, ignored);
  // Other ranks and trainers write the file as well, and may have chosen anew.
  WaitingLock lock(folder.empty() ? "." : folder);
  read();
  if (isForeign) {
    problem = path + " holds something else";
    return;
  }
  try {
    AtomicFile file(path);
    file.write(kHeader);
    for (const auto &[name, text] : choices)
      file.write(name + '\t' + text + '\n');
    file.commit();
  } catch (const Error &error) {
    problem = error.what();
  }
}
