// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/readers/Readers.h"

#include "runtime/core/Error.h"
#include "runtime/data/files/Zstd.h"

#include <filesystem>

using namespace ingot::runtime;

std::unique_ptr<Reader>
ingot::runtime::openReader(const std::string &path,
                           const ReaderOptions &options) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return openFolder(path);
  MappedFile file(path);
  if (isZstd(file.getBytes()))
    file = decompress(std::move(file));
  std::string_view bytes = file.getBytes();
  bool isArray = isZip(bytes) || isNpy(bytes);
  // A name in .bin is for files without a mark, too: those are refused.
  if (options.tokens || areTokens(bytes, path) || path.ends_with(".bin"))
    return openTokens(std::move(file), options);
  if (!isArray && isArrow(bytes))
    return openArrow(std::move(file));
  if (!isArray && isTar(bytes))
    return openTar(std::move(file));
  if (!isArray && areJsonLines(bytes))
    return openJsonLines(std::move(file));
  // Also says what it should have been.
  return openArrays({path}, options.only);
}
