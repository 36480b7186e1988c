// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Where whole samples end in what has come of a stream.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_STREAMS_RECORDSPLITTER_H
#define INGOT_RUNTIME_DATA_STREAMS_RECORDSPLITTER_H

#include "runtime/core/Error.h"
#include "runtime/data/readers/Readers.h"

#include <memory>
#include <string>
#include <string_view>

namespace ingot::runtime {

/// The kinds of files whose samples can be taken as they come.
enum class StreamKind { JsonLines, Table, Tokens, Tar };

/// A guess from the beginning of a stream.
struct StreamGuess {
  /// None for files that are read as a whole.
  std::optional<StreamKind> kind;
  /// Whether more bytes would tell more.
  bool needsMore = false;
  /// Whether it is a file that is read as a whole, and not one of no known
  /// kind.
  bool isWhole = false;
};
StreamGuess guessKind(std::string_view begin, bool isAtEnd, bool areTokens);

/// The error of a file, or a stream, that is of no known kind.
Error unknownKind(const std::string &path);

/// Finds whole samples at the begin of bytes that grow at their end. What was
/// looked at is not looked at again.
class RecordSplitter {
public:
  virtual ~RecordSplitter() = default;

  /// The bytes that belong to whole samples, and how many of those no later
  /// sample needs.
  struct Part {
    size_t size = 0, used = 0;
  };
  /// `bytes` begin where the last call with used() left them. Throws badInput.
  virtual Part find(std::string_view bytes, bool isAtEnd) = 0;
  /// The first bytes are gone.
  virtual void remove(size_t count) = 0;
  /// Returns the bytes that belong before each part.
  virtual std::string_view getHead() const { return {}; }
};

/// `path` is for errors; of tokens, a sample has `window`.
struct SplitterOptions {
  std::string path;
  int64_t window = 1;
  DType tokens = DType::U16;
};
std::unique_ptr<RecordSplitter> makeSplitter(StreamKind kind,
                                             const SplitterOptions &options);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_STREAMS_RECORDSPLITTER_H
