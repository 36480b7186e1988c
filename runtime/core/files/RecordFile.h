// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A file that grows by whole records, which readers may follow meanwhile.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_FILES_RECORDFILE_H
#define INGOT_RUNTIME_CORE_FILES_RECORDFILE_H

#include "runtime/core/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingot::runtime {

class RecordFile {
public:
  /// A file that takes nothing.
  RecordFile() = default;
  /// Opens a file for writing, with the flags of open(2), to append to what it
  /// has. `what` names it in messages. Throws failure, also if another process
  /// holds it open as such a file; file systems without locks do not tell.
  RecordFile(std::string path, const char *what, int flags);
  RecordFile(RecordFile &&other) noexcept { *this = std::move(other); }
  RecordFile &operator=(RecordFile &&other) noexcept;
  ~RecordFile();

  bool isOpen() const { return descriptor >= 0; }
  /// Whether the path still names this file.
  bool isCurrent() const;
  /// Appends a record, which the operating system has when the call returns.
  /// Records that it does not take are kept and written before the next one.
  void append(std::string_view record);
  /// Cuts the file to its first `size` bytes, the end of a record.
  void truncate(int64_t size);

  /// The bytes in the file, and the records that could not be written.
  int64_t getSize() const { return size; }
  std::string &getPending() { return pending; }
  /// Returns the problem that keeps records from being written now.
  const std::optional<Error> &getProblem() const { return problem; }
  /// Sets such a problem.
  void setProblem(const Error &error) { problem = error; }

private:
  Error describeProblem() const;

  std::string path;
  const char *what = "";
  int descriptor = -1;
  int64_t size = 0;
  std::string pending;
  std::optional<Error> problem;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_FILES_RECORDFILE_H
