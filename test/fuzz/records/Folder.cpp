// SPDX-License-Identifier: Apache-2.0

#include "test/fuzz/records/Folder.h"

#include "runtime/core/files/ScratchFolder.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace ingot;

void fuzz::enterFolder() {
  static const runtime::ScratchFolder folder(
      std::filesystem::temp_directory_path().string() + "/ingot-fuzz-");
  static const bool isThere = [] {
    std::filesystem::current_path(folder.getPath());
    return true;
  }();
  (void)isThere;
}

void fuzz::writeFile(const std::string &name, std::string_view bytes) {
  std::ofstream file(name, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush())
    std::abort();
}

std::string_view fuzz::takePart(std::string_view &bytes) {
  std::string_view part = bytes.substr(0, bytes.find('\0'));
  bytes.remove_prefix(std::min(bytes.size(), part.size() + 1));
  return part;
}
