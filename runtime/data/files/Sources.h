// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The files that the words after --data stand for.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_FILES_SOURCES_H
#define INGOT_RUNTIME_DATA_FILES_SOURCES_H

#include "runtime/core/DType.h"

#include <optional>
#include <string>
#include <vector>

namespace ingot::runtime {

struct DataFile {
  std::string path;
  /// The type of the tokens of a file without a header.
  std::optional<DType> tokens = std::nullopt;
  /// The index of the word that named it.
  size_t source = 0;
};

struct DataFiles {
  std::vector<DataFile> files;
  /// The share of each source; empty unless the words have weights.
  std::vector<double> weights;
};

/// Finds the files for the words of an option. A word is a path; a pattern with
/// `*`, `?`, `[...]` or `{000..127}`; `@FILE`, a list of those, one a line; or
/// a folder of shards. After it may come the type of tokens and a weight, as in
/// `tokens.bin:u16:0.3`. A path that is there is taken as it is. Throws
/// badInput if nothing matches, and usageError for bad weights.
DataFiles findFiles(const std::vector<std::string> &words,
                    const std::string &option);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_FILES_SOURCES_H
