// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Mapped files that others change while they are read. The system ends a
// process that touches a page which a file no longer has (SIGBUS); here such
// pages become zeros, and the file is remembered as lost.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_LOSTFILES_H
#define INGOT_RUNTIME_CORE_LOSTFILES_H

#include <cstddef>
#include <string>

namespace ingot::runtime {

/// Keeps the process alive when pages of this mapping of an open file are gone.
/// MappedFile calls it.
void watchMapping(const void *data, size_t size, int descriptor,
                  const std::string &path);
/// Ends that, before the mapping ends.
void forgetMapping(const void *data, const std::string &path);

/// Whether pages of any file have been lost.
bool haveLostFiles();

/// Throws badInput if the file of that path, as it is mapped, lost pages or
/// became shorter.
void checkMappedFile(const std::string &path);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_LOSTFILES_H
