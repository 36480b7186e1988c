// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The file of --remarks while LLVM writes it. Its errors, such as a full disk,
// end the process where no exception reaches anyone.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_COMPILE_REMARKSFILE_H
#define INGOT_TOOLS_INGOTC_COMPILE_REMARKSFILE_H

#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "llvm/Support/FileSystem.h"

#include <string>
#include <unistd.h>

namespace ingot {

/// The remarks of a compilation, under another name until they are complete,
/// where links lead to: nothing is replaced before all that the compiler reads
/// is known. There is one at a time; nothing is written if the path is empty.
class RemarksFile {
public:
  explicit RemarksFile(const std::string &remarks)
      : path(runtime::followLinks(remarks)) {
    if (!path.empty()) {
      unfinished = path + ".building-" + std::to_string(getpid());
      current = this;
    }
  }
  ~RemarksFile() { abandon(); }
  RemarksFile(const RemarksFile &) = delete;
  RemarksFile &operator=(const RemarksFile &) = delete;

  /// Returns the path to write to.
  const std::string &getUnfinished() const { return unfinished; }

  /// Gives the file its name. Throws failure.
  void finish() {
    if (unfinished.empty())
      return;
    if (std::error_code error = llvm::sys::fs::rename(unfinished, path))
      throw runtime::failure(
          path, "cannot write: " + error.message(),
          "check the space left and the directory's permissions");
    unfinished.clear();
    current = nullptr;
  }

  /// Removes what is being written; returns the path that it was for, empty if
  /// nothing is. For errors that end the process.
  static std::string abandonCurrent() {
    return current ? current->abandon() : std::string();
  }

private:
  std::string abandon() {
    if (unfinished.empty())
      return {};
    llvm::sys::fs::remove(unfinished);
    unfinished.clear();
    current = nullptr;
    return path;
  }

  static inline RemarksFile *current = nullptr;
  std::string path, unfinished;
};

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_COMPILE_REMARKSFILE_H
