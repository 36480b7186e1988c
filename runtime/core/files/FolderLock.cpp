// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/files/FolderLock.h"

#include "runtime/core/Error.h"

#include <cctype>
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace ingot::runtime;

/// Returns the process that the file names, like " (process 12)".
static std::string readHolder(int descriptor) {
  char text[20];
  ssize_t size = pread(descriptor, text, sizeof(text), 0);
  std::string number;
  for (ssize_t i = 0; i < size && std::isdigit(text[i]); ++i)
    number += text[i];
  return number.empty() ? "" : " (process " + number + ")";
}

/// Whether `path` is still the file that was opened: its last holder removed it
/// before the lock was free.
static bool isCurrent(int descriptor, const std::string &path) {
  struct stat opened, named;
  return fstat(descriptor, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

FolderLock::FolderLock(const std::string &folder) : path(folder + "/" + kName) {
  for (;;) {
    descriptor =
        open(path.c_str(),
             O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0666);
    if (descriptor < 0)
      return;
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      bool isTaken = errno == EWOULDBLOCK;
      std::string holder = readHolder(descriptor);
      close(std::exchange(descriptor, -1));
      if (isTaken)
        throw failure(folder, "another trainer" + holder + " writes into it",
                      "give each run a folder of its own, or wait until that "
                      "one has ended");
      return;
    }
    if (isCurrent(descriptor, path))
      break;
    close(descriptor);
  }
  struct stat status;
  isForeign = readHolder(descriptor).empty() &&
              (fstat(descriptor, &status) != 0 || status.st_size != 0);
  if (isForeign)
    return;
  // The number is for messages only, also on a disk that is full.
  std::string number = std::to_string(getpid()) + "\n";
  if (ftruncate(descriptor, 0) == 0)
    (void)!pwrite(descriptor, number.data(), number.size(), 0);
}

FolderLock::~FolderLock() {
  if (descriptor < 0)
    return;
  if (!isForeign)
    unlink(path.c_str());
  close(descriptor);
}
