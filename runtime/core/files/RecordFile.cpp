// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/files/RecordFile.h"

#include "runtime/core/File.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace ingot::runtime;

Error RecordFile::describeProblem() const {
  return failure(path,
                 "cannot write " + std::string(what) + ": " + describeErrno(),
                 "check the path, its permissions and the free space");
}

RecordFile::RecordFile(std::string name, const char *what, int flags)
    : path(std::move(name)), what(what) {
  do {
    if (descriptor >= 0)
      close(descriptor);
    descriptor =
        ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | flags, 0666);
    if (descriptor < 0)
      throw describeProblem();
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(std::exchange(descriptor, -1));
      throw failure(path,
                    "another process writes " + std::string(what) + " there",
                    "give each run a file of its own, or wait until that one "
                    "has ended");
    }
    // Its last holder may have replaced or renamed it before the lock was free.
  } while (!isCurrent());
  struct stat status;
  size = fstat(descriptor, &status) == 0 ? status.st_size : 0;
}

bool RecordFile::isCurrent() const {
  struct stat opened, named;
  return fstat(descriptor, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

RecordFile &RecordFile::operator=(RecordFile &&other) noexcept {
  std::swap(path, other.path);
  std::swap(what, other.what);
  std::swap(descriptor, other.descriptor);
  std::swap(size, other.size);
  std::swap(pending, other.pending);
  std::swap(problem, other.problem);
  return *this;
}

RecordFile::~RecordFile() {
  if (descriptor >= 0)
    close(descriptor);
}

void RecordFile::append(std::string_view record) {
  // Records of many steps, beyond which the file has a gap.
  constexpr size_t mostPending = size_t(64) << 20;
  if (pending.size() + record.size() <= mostPending)
    pending += record;
  size_t written = 0;
  while (written < pending.size()) {
    ssize_t some =
        pwrite(descriptor, pending.data() + written, pending.size() - written,
               size + static_cast<int64_t>(written));
    if (some < 0 && errno == EINTR)
      continue;
    if (some <= 0) {
      problem = describeProblem();
      // Readers find whole records only.
      (void)!ftruncate(descriptor, size);
      return;
    }
    written += static_cast<size_t>(some);
  }
  size += static_cast<int64_t>(written);
  pending.clear();
  problem.reset();
}

void RecordFile::truncate(int64_t bytes) {
  size = bytes;
  if (ftruncate(descriptor, size) != 0)
    problem = describeProblem();
}
