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

namespace {

/// A descriptor that is closed unless it is standard input's.
class PipeEnd {
public:
  explicit PipeEnd(const std::string &path) : path(path) {
    // A FIFO without a writer would wait here for ever.
    descriptor = isStandardInput(path)
                     ? STDIN_FILENO
                     : open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
      throw badInput(path, "cannot open: " + describeErrno(),
                     "check the path and its permissions");
    if (isatty(descriptor))
      throw badInput(path, "standard input is a terminal",
                     "write samples to the trainer, as in: generator | trainer "
                     "--data -");
  }
  PipeEnd(const PipeEnd &) = delete;
  PipeEnd &operator=(const PipeEnd &) = delete;
  ~PipeEnd() {
    if (!isStandardInput(path))
      close(descriptor);
  }

  /// Copies all that comes.
  void copy(NamelessFile &to) {
    std::vector<char> piece(size_t(1) << 18);
    auto begin = std::chrono::steady_clock::now();
    bool hasWriter = isStandardInput(path);
    while (true) {
      ssize_t some = read(descriptor, piece.data(), piece.size());
      if (some > 0) {
        to.write(piece.data(), static_cast<size_t>(some));
        hasWriter = true;
      } else if (some == 0 && hasWriter) {
        return;
      } else if (some < 0 && errno == EAGAIN) {
        hasWriter = true;
        wait(-1);
      } else if (some < 0 && errno != EINTR) {
        throw badInput(path, "cannot read: " + describeErrno(),
                       "check what writes to it");
      } else if (some == 0) {
        if (std::chrono::steady_clock::now() - begin > kPatience)
          throw badInput(path,
                         "not a regular file, and nobody writes to the pipe",
                         "start what writes the samples before the trainer, or "
                         "beside it");
        wait(kPauseMs);
      }
    }
  }

private:
  void wait(int milliseconds) const {
    pollfd waited{descriptor, POLLIN, 0};
    // Without a writer a pipe is always ready.
    (void)poll(milliseconds < 0 ? &waited : nullptr, milliseconds < 0 ? 1 : 0,
               milliseconds);
  }

  const std::string &path;
  int descriptor;
};

} // namespace

MappedFile ingot::runtime::openInput(const std::string &path) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<NamelessFile>> known;
  std::lock_guard lock(mutex);
  auto found = known.find(path);
  if (found == known.end()) {
    if (!isPipe(path))
      return MappedFile(path);
    PipeEnd pipe(path);
    auto content = std::make_unique<NamelessFile>(path);
    pipe.copy(*content);
    found = known.emplace(path, std::move(content)).first;
  }
  return found->second->map();
}
