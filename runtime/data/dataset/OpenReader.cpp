// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/dataset/OpenReader.h"

#include "runtime/core/Error.h"
#include "runtime/data/files/Pipes.h"
#include "runtime/data/streams/RecordSplitter.h"
#include "runtime/data/streams/SampleStream.h"
#include "runtime/data/unpacking/Gzip.h"
#include "runtime/data/unpacking/Zstd.h"

#include <filesystem>

using namespace ingot::runtime;

static bool isTableByContent(std::string_view bytes) {
  return guessKind(bytes, /*isAtEnd=*/true, /*areTokens=*/false).kind ==
         StreamKind::Table;
}

std::unique_ptr<Reader>
ingot::runtime::openReader(const std::string &path,
                           const ReaderOptions &options) {
  if (options.stream)
    return options.stream->makeReader(options);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return openFolder(path, options.classes);
  MappedFile file = openInput(path);
  if (isZstd(file.getBytes()))
    file = decompress(std::move(file));
  else if (isGzip(file.getBytes()))
    file = gunzip(std::move(file));
  std::string_view bytes = file.getBytes();
  bool isArray = isZip(bytes) || isNpy(bytes);
  // A name in .bin is for files without a mark, too: those are refused.
  if (options.tokens || areTokens(bytes, path) || path.ends_with(".bin"))
    return openTokens(std::move(file), options);
  if (!isArray && isArrow(bytes))
    return openArrow(std::move(file));
  if (!isArray && isParquet(bytes))
    return openParquet(std::move(file));
  if (!isArray && isTar(bytes))
    return openTar(std::move(file));
  if (!isArray && areJsonLines(bytes))
    return openJsonLines(std::move(file));
  // What comes through a pipe has no name to tell a table by.
  if (!isArray && (isTable(path) || (isPipe(path) && isTableByContent(bytes))))
    return openTable(std::move(file));
  if (!isArray)
    throw unknownKind(path);
  return openArrays(std::move(file), options.only);
}
