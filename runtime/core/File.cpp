// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Mapped and atomically replaced files.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/File.h"

#include "runtime/core/Error.h"
#include "runtime/core/LostFiles.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace ingot::runtime;

std::string ingot::runtime::describeErrno() { return std::strerror(errno); }

MappedFile::MappedFile(const std::string &path) : path(path) {
  // Opening a FIFO would wait for a writer.
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    throw badInput(path, "cannot open: " + describeErrno(),
                   "check the path and its permissions");
  try {
    map(descriptor);
  } catch (const Error &) {
    close(descriptor);
    throw;
  }
  close(descriptor);
}

MappedFile::MappedFile(int descriptor, const std::string &path) : path(path) {
  map(descriptor);
}

/// Reads bytes of a file; at its end there are zeros. Returns whether it could.
static bool readAll(int descriptor, char *data, size_t size) {
  for (size_t at = 0; at < size;) {
    ssize_t got =
        pread(descriptor, data + at, size - at, static_cast<off_t>(at));
    if (got == 0)
      return true;
    if (got < 0 && errno != EINTR)
      return false;
    at += got > 0 ? static_cast<size_t>(got) : 0;
  }
  return true;
}

void MappedFile::map(int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))
    throw badInput(path, "not a regular file", "give the path of a file");
  size = static_cast<size_t>(status.st_size);
  void *mapped = nullptr;
  bool isRead = UnmappedFiles::areInForce();
  if (size != 0 && isRead) {
    mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped != MAP_FAILED &&
        !readAll(descriptor, static_cast<char *>(mapped), size)) {
      int problem = errno;
      munmap(mapped, size);
      errno = problem;
      mapped = MAP_FAILED;
    }
  } else if (size != 0) {
    mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  }
  if (mapped == MAP_FAILED) {
    std::string problem = describeErrno();
    size = 0;
    throw badInput(path, "cannot read: " + problem,
                   "check the file system and the free memory");
  }
  data = static_cast<const char *>(mapped);
  if (!isRead)
    watchMapping(data, size, descriptor, path);
}

MappedFile::~MappedFile() {
  if (size == 0)
    return;
  forgetMapping(data, path);
  munmap(const_cast<char *>(data), size);
}

void MappedFile::swap(MappedFile &other) noexcept {
  std::swap(path, other.path);
  std::swap(data, other.data);
  std::swap(size, other.size);
}

static Error cannotWrite(const std::string &path) {
  const char *hint = "check the path, its permissions and the free space";
  if (errno == EROFS)
    hint = "the file system is read-only: write to another one";
  else if (errno == EFBIG)
    hint = "the limit on the size of files (ulimit -f) or the file system's is "
           "reached";
  return failure(path, "cannot write: " + describeErrno(), hint);
}

static std::string describeKind(mode_t mode) {
  switch (mode & S_IFMT) {
  case S_IFDIR:
    return "a directory";
  case S_IFIFO:
    return "a FIFO";
  case S_IFSOCK:
    return "a socket";
  default:
    return "a device";
  }
}

std::optional<std::string>
ingot::runtime::describeObstacle(const std::string &path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return errno == ELOOP ? std::optional("a link that leads to itself")
                          : std::nullopt;
  if (S_ISREG(status.st_mode))
    return std::nullopt;
  return describeKind(status.st_mode);
}

void ingot::runtime::checkReadable(const std::string &path) {
  for (const char *start : {"/dev/stdin", "/dev/fd/", "/proc/self/fd/"})
    if (path.starts_with(start))
      return;
  if (auto obstacle = describeObstacle(path))
    throw badInput(path, *obstacle + ", not a regular file",
                   "give the path of a file");
}

void ingot::runtime::makeFolder(const std::string &path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error)
    return;
  errno = error.value();
  throw cannotWrite(path);
}

std::filesystem::path ingot::runtime::followLinks(std::filesystem::path path) {
  // The system's limit, which a cycle of links reaches.
  constexpr int maxLinks = 40;
  std::error_code error;
  for (int i = 0; i < maxLinks && std::filesystem::is_symlink(path, error);
       ++i) {
    std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error)
      break;
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path;
}

/// Makes a file of this name, in place of what an earlier process of the same
/// number has left. A link is replaced as well, not followed.
static int makeTemporary(const std::string &name) {
  auto make = [&] {
    return open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  };
  int descriptor = make();
  if (descriptor < 0 && errno == EEXIST && unlink(name.c_str()) == 0)
    descriptor = make();
  return descriptor;
}

AtomicFile::AtomicFile(std::string path, Links links) : path(std::move(path)) {
  std::error_code ignored;
  bool isReplaced = links == Links::Replace &&
                    std::filesystem::is_symlink(this->path, ignored);
  if (auto obstacle = describeObstacle(this->path); obstacle && !isReplaced)
    throw failure(this->path, "cannot write: it is " + *obstacle,
                  "give the path of a file");
  if (links == Links::Follow)
    this->path = followLinks(this->path);
  temporary = this->path + ".tmp-" + std::to_string(getpid());
  // A file without a name goes with the process, however that ends. Its name
  // comes from /proc, and not every file system has such files.
  if (access("/proc/self/fd", X_OK) == 0)
    descriptor = open(getDirectory(this->path).c_str(),
                      O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  isNamed = descriptor < 0;
  if (isNamed)
    descriptor = makeTemporary(temporary);
  if (descriptor < 0)
    throw cannotWrite(this->path);
}

/// Gives a file without a name one, which replaces a file of that name that an
/// earlier process left behind.
static bool giveName(int descriptor, const std::string &name) {
  std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  auto tryIt = [&] {
    return linkat(AT_FDCWD, link.c_str(), AT_FDCWD, name.c_str(),
                  AT_SYMLINK_FOLLOW) == 0;
  };
  return tryIt() || (errno == EEXIST && unlink(name.c_str()) == 0 && tryIt());
}

AtomicFile::~AtomicFile() {
  if (descriptor < 0)
    return;
  close(descriptor);
  if (isNamed)
    unlink(temporary.c_str());
}

/// The largest unit by which disks are addressed, and the size of a write past
/// the cache.
static constexpr size_t kSector = 4096, kBlockBytes = size_t(1) << 20;

static bool isBypassing(int descriptor) {
  int flags = fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_DIRECT) != 0;
}

void AtomicFile::writeAt(uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = pwrite(descriptor, bytes.data(), bytes.size(),
                             static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR)
        continue;
      if (errno == EINVAL && block && isBypassing(descriptor)) {
        useCache();
        continue;
      }
      throw cannotWrite(path);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
}

void AtomicFile::bypassCache() {
  int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_DIRECT) != 0)
    return;
  block.reset(static_cast<char *>(std::aligned_alloc(kSector, kBlockBytes)));
  if (!block)
    useCache();
}

void AtomicFile::useCache() {
  int flags = fcntl(descriptor, F_GETFL);
  if (flags >= 0)
    (void)fcntl(descriptor, F_SETFL, flags & ~O_DIRECT);
}

void AtomicFile::writePast(std::string_view bytes) {
  while (!bytes.empty()) {
    size_t count = std::min(bytes.size(), kBlockBytes - held);
    std::memcpy(block.get() + held, bytes.data(), count);
    bytes.remove_prefix(count);
    held += count;
    if (held < kBlockBytes)
      continue;
    writeAt(flushed, {block.get(), held});
    flushed += held;
    held = 0;
  }
}

void AtomicFile::flush() {
  if (block) {
    // The end of the file is no whole sector.
    useCache();
    writeAt(flushed, {block.get(), held});
    flushed += std::exchange(held, 0);
    block.reset();
  }
  writeAt(flushed, buffer);
  flushed += buffer.size();
  buffer.clear();
}

void AtomicFile::write(std::string_view bytes) {
  constexpr size_t bufferSize = 1 << 16;
  size += bytes.size();
  if (block)
    return writePast(bytes);
  if (buffer.size() + bytes.size() > bufferSize)
    flush();
  if (bytes.size() > bufferSize) {
    writeAt(flushed, bytes);
    flushed += bytes.size();
  } else {
    buffer.append(bytes);
  }
}

void AtomicFile::rewrite(uint64_t offset, std::string_view bytes) {
  flush();
  writeAt(offset, bytes);
}

void AtomicFile::commit() {
  flush();
  if (fsync(descriptor) != 0 || (!isNamed && !giveName(descriptor, temporary)))
    throw cannotWrite(path);
  isNamed = true;
  if (close(std::exchange(descriptor, -1)) != 0 ||
      rename(temporary.c_str(), path.c_str()) != 0) {
    Error error = cannotWrite(path);
    unlink(temporary.c_str());
    throw error;
  }
  syncDirectory(getDirectory(path));
}

void ingot::runtime::syncDirectory(const std::string &path) {
  int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return;
  // Some file systems cannot sync a directory; the rename stands all the same.
  (void)fsync(descriptor);
  close(descriptor);
}

std::string ingot::runtime::getDirectory(const std::string &path) {
  std::string directory = std::filesystem::path(path).parent_path();
  return directory.empty() ? "." : directory;
}

std::string ingot::runtime::getExecutablePath() {
  std::error_code error;
  std::string path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error)
    throw failure("/proc/self/exe", "cannot read: " + error.message(),
                  "mount /proc");
  return path;
}
