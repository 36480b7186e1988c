// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/files/Pipes.h"

#include "runtime/core/Error.h"
#include "runtime/data/unpacking/NamelessFile.h"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <map>
#include <memory>
#include <mutex>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace ingot::runtime;

/// How long nobody may write to a FIFO, and how often that is looked at.
static constexpr auto kPatience = std::chrono::seconds(3);
static constexpr int kPauseMs = 20;

static bool isStandardInput(const std::string &path) { return path == "-"; }

bool ingot::runtime::isPipe(const std::string &path) {
  struct stat status;
  return isStandardInput(path) ||
         (stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode));
}

bool ingot::runtime::isFileAtInput() {
  struct stat status;
  return fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode) &&
         lseek(STDIN_FILENO, 0, SEEK_CUR) == 0;
}

Pipe::Pipe(const std::string &given)
    : path(given), opened(std::chrono::steady_clock::now()),
      hasWriter(isStandardInput(given)) {
  // A FIFO without a writer would wait here for ever.
  descriptor = isStandardInput(path)
                   ? STDIN_FILENO
                   : open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0)
    throw badInput(path, "cannot open: " + describeErrno(),
                   "check the path and its permissions");
  auto refuse = [&](const std::string &what) {
    return badInput(path, what,
                    "write samples to the trainer, as in: generator | trainer "
                    "--data -");
  };
  if (isatty(descriptor))
    throw refuse("standard input is a terminal");
  // A device may have no end, and nothing ever comes from an end to write to.
  struct stat status;
  if (fstat(descriptor, &status) == 0 &&
      (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)))
    throw refuse("standard input is a device");
  int flags = fcntl(descriptor, F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) == O_WRONLY)
    throw refuse("standard input is open for writing only");
}

Pipe::~Pipe() {
  if (!isStandardInput(path))
    close(descriptor);
}

std::optional<size_t> Pipe::read(char *to, size_t size, int milliseconds) {
  pollfd waited{descriptor, POLLIN, 0};
  // A FIFO that nobody has opened is never ready, and reads as if at its end.
  int ready = poll(&waited, 1, hasWriter ? milliseconds : kPauseMs);
  if (hasWriter && (ready == 0 || (ready < 0 && errno == EINTR)))
    return std::nullopt;
  ssize_t some = ::read(descriptor, to, size);
  if (some < 0 && (errno == EAGAIN || errno == EINTR)) {
    hasWriter |= errno == EAGAIN;
    return std::nullopt;
  }
  if (some < 0)
    throw badInput(path, "cannot read: " + describeErrno(),
                   "check what writes to it");
  hasWriter |= some > 0;
  if (some > 0 || hasWriter)
    return static_cast<size_t>(some);
  if (std::chrono::steady_clock::now() - opened > kPatience)
    throw badInput(path, "not a regular file, and nobody writes to the pipe",
                   "start what writes the samples before the trainer, or "
                   "beside it");
  // Without a writer a pipe is always ready.
  (void)poll(nullptr, 0, kPauseMs);
  return std::nullopt;
}

/// The files that have come through pipes.
static std::mutex mutex;
static std::map<std::string, std::unique_ptr<NamelessFile>> known;

static void keep(const std::string &path, Pipe &pipe, std::string_view begin) {
  auto content = std::make_unique<NamelessFile>(path);
  content->write(begin.data(), begin.size());
  std::vector<char> piece(size_t(1) << 18);
  constexpr int forEver = -1;
  while (true) {
    std::optional<size_t> some = pipe.read(piece.data(), piece.size(), forEver);
    if (some && *some == 0)
      break;
    if (some)
      content->write(piece.data(), *some);
  }
  known.emplace(path, std::move(content));
}

MappedFile ingot::runtime::openInput(const std::string &path) {
  std::lock_guard lock(mutex);
  auto found = known.find(path);
  if (found == known.end()) {
    if (!isPipe(path))
      return MappedFile(path);
    if (isStandardInput(path) && isFileAtInput())
      return MappedFile(STDIN_FILENO, path);
    Pipe pipe(path);
    keep(path, pipe, "");
    found = known.find(path);
  }
  return found->second->map();
}

void ingot::runtime::keepInput(const std::string &path, Pipe &pipe,
                               std::string_view begin) {
  std::lock_guard lock(mutex);
  keep(path, pipe, begin);
}
