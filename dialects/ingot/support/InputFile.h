// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Files that users name, read so that no file can block or exhaust the
// compiler: special files and files over a limit are refused unread.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_SUPPORT_INPUTFILE_H
#define INGOT_DIALECTS_INGOT_SUPPORT_INPUTFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace ingot {

/// The most bytes that a JSON file with options may have; such files have a
/// few kilobytes.
inline constexpr uint64_t kMaxJsonBytes = uint64_t(16) << 20;

/// Returns the bytes of a regular file of at most `maxBytes`. The error says
/// what is wrong with the file, without its path: it is opened without waiting,
/// so that a named pipe is an error too.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readInputFile(llvm::StringRef path, uint64_t maxBytes);

/// Parses JSON whose arrays and objects are nested at most 64 deep: LLVM's
/// parser recurses once per level.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

/// Whether a positive number from a file is one that products and quotients of
/// several such numbers can be computed with: from 1e-30 to 1e30.
inline bool isModerate(double number) {
  constexpr double most = 1e30;
  return number >= 1 / most && number <= most;
}

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_SUPPORT_INPUTFILE_H
