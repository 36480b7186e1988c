// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/support/InputFile.h"
#include "runtime/core/text/JsonDepth.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace ingot;
using llvm::StringRef;

static llvm::Error makeError(const llvm::Twine &what) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), what);
}

/// A size as people read it.
static std::string describeBytes(uint64_t bytes) {
  if (bytes >= (uint64_t(1) << 30))
    return std::to_string(bytes >> 30) + " GiB";
  return std::to_string(bytes >> 20) + " MiB";
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
ingot::readInputFile(StringRef path, uint64_t maxBytes) {
  llvm::SmallString<128> terminated(path);
  int descriptor =
      open(terminated.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0)
    return makeError(llvm::Twine("cannot be opened: ") + std::strerror(errno));
  llvm::scope_exit closeAtEnd([&] { close(descriptor); });
  struct stat status;
  if (fstat(descriptor, &status) != 0)
    return makeError(llvm::Twine("cannot be opened: ") + std::strerror(errno));
  if (S_ISDIR(status.st_mode))
    return makeError("is a folder");
  if (!S_ISREG(status.st_mode))
    return makeError("is not a regular file");
  auto size = static_cast<uint64_t>(status.st_size);
  if (size > maxBytes)
    return makeError("is larger than " + describeBytes(maxBytes) +
                     ", the limit for such files");
  auto buffer = llvm::MemoryBuffer::getOpenFile(
      descriptor, path, size, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return makeError("cannot be read: " + buffer.getError().message());
  return std::move(*buffer);
}

llvm::Expected<llvm::json::Value> ingot::parseJson(StringRef text) {
  if (isTooDeep(text))
    return makeError("is nested more than " + llvm::Twine(kMostJsonDepth) +
                     " levels deep");
  return llvm::json::parse(text);
}
