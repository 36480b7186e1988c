// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/unpacking/NamelessFile.h"

#include <cerrno>
#include <cstdlib>
#include <unistd.h>
#include <utility>

using namespace ingot::runtime;

NamelessFile::NamelessFile(std::string given) : purpose(std::move(given)) {
  const char *folder = std::getenv("TMPDIR");
  std::string name =
      std::string(folder && *folder ? folder : "/tmp") + "/ingot-XXXXXX";
  descriptor = mkstemp(name.data());
  if (descriptor < 0)
    throw cannotWrite();
  unlink(name.c_str());
}

NamelessFile::~NamelessFile() { close(descriptor); }

void NamelessFile::write(const char *bytes, size_t size) {
  while (size != 0) {
    ssize_t some = ::write(descriptor, bytes, size);
    if (some < 0 && errno == EINTR)
      continue;
    if (some <= 0)
      throw cannotWrite();
    bytes += some;
    size -= static_cast<size_t>(some);
  }
}

Error NamelessFile::cannotWrite() const {
  return failure(purpose,
                 "cannot write its decompressed content: " + describeErrno(),
                 "set TMPDIR to a folder with enough space");
}
