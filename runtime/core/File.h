// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Files: mapped for reading, written so that a crash leaves the old file or
// the new one and never a part.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_FILE_H
#define INGOT_RUNTIME_CORE_FILE_H

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ingot::runtime {

/// A whole file, mapped read-only.
class MappedFile {
public:
  MappedFile() = default;
  /// Throws badInput naming the path.
  explicit MappedFile(const std::string &path);
  /// Maps an open file, which stays open, under the name `path`. Throws
  /// badInput.
  MappedFile(int descriptor, const std::string &path);
  MappedFile(MappedFile &&other) noexcept { swap(other); }
  MappedFile &operator=(MappedFile &&other) noexcept {
    swap(other);
    return *this;
  }
  ~MappedFile();

  std::string_view getBytes() const { return {data, size}; }
  const std::string &getPath() const { return path; }

private:
  void map(int descriptor);
  void swap(MappedFile &other) noexcept;

  std::string path;
  const char *data = nullptr;
  size_t size = 0;
};

/// The treatment of a name that is a link. What a user names is what the link
/// leads to. Of a name that a program makes up, the link is replaced: what is
/// behind it is somebody else's.
enum class Links { Follow, Replace };

/// Writes a file that has no name, or a temporary one next to its final one
/// where the file system asks for names. commit() makes the file durable and
/// gives it its name; without it nothing is left, nor by a process that is
/// killed.
class AtomicFile {
public:
  /// Throws failure naming the path.
  explicit AtomicFile(std::string path, Links links = Links::Follow);
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;
  ~AtomicFile();

  /// Lets what is written until something is overwritten go to the disk without
  /// a copy in the system's cache, where the file system can: for many bytes
  /// that nobody reads soon. Called before the first write.
  void bypassCache();
  void write(std::string_view bytes);
  void write(const void *data, size_t size) {
    write(std::string_view(static_cast<const char *>(data), size));
  }
  /// Overwrites bytes already written.
  void rewrite(uint64_t offset, std::string_view bytes);
  uint64_t getSize() const { return size; }
  void commit();

private:
  void flush();
  /// Fills the block of a file that bypasses the cache.
  void writePast(std::string_view bytes);
  void useCache();
  void writeAt(uint64_t offset, std::string_view bytes);

  std::string path, temporary;
  std::string buffer;
  uint64_t size = 0, flushed = 0;
  int descriptor = -1;
  /// The buffer from which a file that bypasses the cache is written, aligned
  /// as disks want it; null for others.
  struct Free {
    void operator()(char *block) const { std::free(block); }
  };
  std::unique_ptr<char, Free> block;
  /// The bytes of it that are not written yet.
  size_t held = 0;
  /// Whether the temporary file has its name already.
  bool isNamed = false;
};

/// Names what is at `path` if that is neither nothing nor a regular file, as in
/// "a device". Such a thing must not be replaced by a file.
std::optional<std::string> describeObstacle(const std::string &path);

/// Throws badInput if what is at `path` cannot be read to an end: a device, or
/// a FIFO, which waits for a writer. One that the process was started with, as
/// /dev/stdin, has one.
void checkReadable(const std::string &path);

/// Follows links at the end of a path, also those that lead to nothing.
std::filesystem::path followLinks(std::filesystem::path path);

/// Makes a folder and those that it lies in. Throws failure with the system's
/// reason.
void makeFolder(const std::string &path);

/// Makes the names in a directory durable.
void syncDirectory(const std::string &path);

/// Returns the folder that holds `path`.
std::string getDirectory(const std::string &path);

/// Returns the path of the running executable.
std::string getExecutablePath();

/// Returns the system's description of errno.
std::string describeErrno();

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_FILE_H
