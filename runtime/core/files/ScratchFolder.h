// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A folder for what a program needs for a while.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_FILES_SCRATCHFOLDER_H
#define INGOT_RUNTIME_CORE_FILES_SCRATCHFOLDER_H

#include <string>

namespace ingot::runtime {

class ScratchFolder {
public:
  /// Makes a folder that was not there, whose path begins with `start`, so that
  /// it is on the disk that the path says. Throws failure.
  explicit ScratchFolder(const std::string &start);
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;
  /// Removes it, with all that is in it.
  ~ScratchFolder();

  const std::string &getPath() const { return path; }

private:
  std::string path;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_FILES_SCRATCHFOLDER_H
