// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The readers of each kind of file. OpenReader.h chooses among them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_READERS_READERS_H
#define INGOT_RUNTIME_DATA_READERS_READERS_H

#include "runtime/core/File.h"
#include "runtime/data/files/TarIndex.h"
#include "runtime/data/readers/Reader.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ingot::runtime {

class SampleStream;

struct ReaderOptions {
  /// The type of the tokens of a file without a header.
  std::optional<DType> tokens = std::nullopt;
  /// Returns the tokens of a sample; it is called for files of tokens only.
  std::function<int64_t()> getWindow = [] { return 1; };
  /// Whether samples are documents of any length, not windows of tokens. Those
  /// of a file without an index end with the token `separator`, or begin with
  /// it if the file does.
  bool hasDocuments = false;
  std::optional<int64_t> separator = std::nullopt;
  /// The name of the field that a single .npy file is, unless it is empty.
  std::string only = {};
  /// The classes of folders of pictures, in the order of their labels; empty
  /// for those that a folder has.
  std::vector<std::string> classes = {};
  /// The stream of a pipe, which is read as it comes; null for files.
  std::shared_ptr<SampleStream> stream = nullptr;
};

/// Opens a .npz file, or .npy files that are fields of the same samples. A
/// single .npy file has the field `only` if that is not empty, else one of its
/// own name.
std::unique_ptr<Reader> openArrays(const std::vector<std::string> &paths,
                                   const std::string &only);

/// Opens one such file that is mapped already.
std::unique_ptr<Reader> openArrays(MappedFile file, const std::string &only);

/// Opens tokens: the field `tokens` of `window` each, and `next`, those that
/// follow each of them.
std::unique_ptr<Reader> openTokens(MappedFile file,
                                   const ReaderOptions &options);
/// Whether the bytes have llm.c's header, or `path` is half of a pair of
/// Megatron-LM's.
bool areTokens(std::string_view bytes, const std::string &path);

/// Opens the samples of a WebDataset archive: members with the same path up to
/// the first dot of the name, each a field named after the rest.
std::unique_ptr<Reader> openTar(MappedFile file);
/// The fields are the keys of the first line unless there are `names`.
std::unique_ptr<Reader> openJsonLines(MappedFile file,
                                      std::vector<std::string> names = {});
bool areJsonLines(std::string_view bytes);
/// Opens a table of text, whose name ends in .csv or .tsv: a field for each
/// column, and `*`, the numbers of all that are no labels.
std::unique_ptr<Reader> openTable(MappedFile file);
bool isTable(const std::string &path);
/// Opens the stream or the file format of Apache Arrow.
std::unique_ptr<Reader> openArrow(MappedFile file);
bool isArrow(std::string_view bytes);
/// Opens a table in Apache Parquet: a field for each column, and `*`, the
/// numbers of all that are no labels.
std::unique_ptr<Reader> openParquet(MappedFile file);
bool isParquet(std::string_view bytes);
/// Opens DIR/CLASS/FILE: the fields `image` and `labels`, the place of CLASS in
/// `classes`, which has all that have files, or else in sorted order.
std::unique_ptr<Reader> openFolder(const std::string &path,
                                   const std::vector<std::string> &classes);
/// The names of the folders of classes in a folder, sorted. Throws badInput.
std::vector<std::string> listClassFolders(const std::string &path);
/// Whether the folder of a class has files.
bool hasPictures(const std::string &path);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_READERS_READERS_H
