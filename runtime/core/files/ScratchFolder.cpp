// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/files/ScratchFolder.h"

#include "runtime/core/Error.h"
#include "runtime/core/File.h"

#include <cstdlib>
#include <filesystem>

using namespace ingot::runtime;

ScratchFolder::ScratchFolder(const std::string &start) {
  std::string name = start + "-XXXXXX";
  makeFolder(getDirectory(name));
  if (!mkdtemp(name.data()))
    throw failure(start, "cannot make a folder: " + describeErrno(),
                  "check the path, its permissions and the free space");
  path = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path.empty())
    std::filesystem::remove_all(path, ignored);
}
