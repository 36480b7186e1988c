// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// One process at a time writes into a folder. The lock ends with the process,
// however that ends.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_FILES_FOLDERLOCK_H
#define INGOT_RUNTIME_CORE_FILES_FOLDERLOCK_H

#include <string>

namespace ingot::runtime {

class FolderLock {
public:
  /// The file in the folder that is locked; it is there while the lock is held.
  static constexpr const char *kName = ".lock";

  /// Locks a folder that exists. Where the file system has no locks, it does
  /// nothing. Throws failure, naming the process, if another one holds the
  /// lock.
  explicit FolderLock(const std::string &folder);
  FolderLock(const FolderLock &) = delete;
  FolderLock &operator=(const FolderLock &) = delete;
  ~FolderLock();

private:
  std::string path;
  /// Whether the file was there for something else, and stays as it is.
  bool isForeign = false;
  int descriptor = -1;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_FILES_FOLDERLOCK_H
