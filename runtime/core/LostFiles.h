// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Mapped files that others change while they are read. The system ends a
// process that touches a page which a file no longer has (SIGBUS); here such
// pages become zeros, and the file is remembered as lost. A library that must
// not handle signals reads files into memory instead.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_LOSTFILES_H
#define INGOT_RUNTIME_CORE_LOSTFILES_H

#include <cstddef>
#include <string>

namespace ingot::runtime {

/// While it lives, files that the calling thread opens as MappedFile are read
/// into memory.
class UnmappedFiles {
public:
  UnmappedFiles();
  UnmappedFiles(const UnmappedFiles &) = delete;
  UnmappedFiles &operator=(const UnmappedFiles &) = delete;
  ~UnmappedFiles();

  /// Whether there is one in the calling thread.
  static bool areInForce();

private:
  bool before;
};

/// Keeps the process alive when pages of this mapping of an open file are gone.
/// MappedFile calls it.
void watchMapping(const void *data, size_t size, int descriptor,
                  const std::string &path);
/// Ends that, before the mapping ends.
void forgetMapping(const void *data, const std::string &path);

/// Puts the handler back that the signal had before, unless it has another one
/// by now: for a library that is unloaded. No file may be mapped.
void removeHandler();

/// Whether pages of any file have been lost.
bool haveLostFiles();

/// Throws badInput if the file of that path, as it is mapped, lost pages or
/// became shorter.
void checkMappedFile(const std::string &path);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_LOSTFILES_H
