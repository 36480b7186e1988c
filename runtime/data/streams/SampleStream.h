// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Samples that are taken as a program writes them to a pipe. What has come is
// kept in pieces, which are files of that kind, until it is released.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_STREAMS_SAMPLESTREAM_H
#define INGOT_RUNTIME_DATA_STREAMS_SAMPLESTREAM_H

#include "runtime/data/files/Pipes.h"
#include "runtime/data/streams/RecordSplitter.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ingot::runtime {

class SampleStream : public std::enable_shared_from_this<SampleStream> {
public:
  /// Opens a pipe and waits for its first bytes. Returns null if these are of a
  /// kind that is read as a whole: the path opens like a file then. Tokens
  /// without a header have a type. `isStopped` is asked while nothing comes.
  /// Throws badInput.
  static std::shared_ptr<SampleStream> open(const std::string &path,
                                            std::optional<DType> tokens,
                                            std::function<bool()> isStopped);

  /// Returns a reader of the samples, whose number has no end. Waits for the
  /// first one. Throws badInput.
  std::unique_ptr<Reader> makeReader(const ReaderOptions &options);

  /// Waits for a sample. Returns false if the stream ends before it, or if the
  /// wait is ended. One thread calls it at a time. Throws badInput.
  bool wait(int64_t sample);
  /// Ends waits, now and in future.
  void cancel() { isCancelled = true; }
  /// How many samples have come.
  int64_t countArrived() const;
  /// Forgets the samples before this one.
  void release(int64_t sample);

  /// Reads a field of a sample that has come and is not released. Throws
  /// badInput.
  Value read(std::string_view name, int64_t sample, std::string &storage) const;
  std::string describe(std::string_view name, int64_t sample) const;

private:
  SampleStream(std::string path, std::function<bool()> isStopped);

  struct Piece {
    int64_t first = 0;
    std::shared_ptr<Reader> reader;
  };
  std::shared_ptr<Piece> find(int64_t sample) const;
  /// Adds the bytes that come next. Returns false if the wait is ended.
  bool receive();
  void append(std::string_view bytes);
  /// Adds whole samples of what has come. Returns whether there were any.
  bool addPiece();
  std::unique_ptr<Reader> openPiece(std::string_view bytes) const;

  std::string path;
  std::function<bool()> isStopped;
  std::optional<Pipe> pipe;
  StreamKind kind = StreamKind::JsonLines;
  std::optional<DType> tokens;
  /// Whether the tokens have llm.c's headers, and the bytes of tokens that are
  /// left of the last one.
  bool hasHeaders = false;
  uint64_t tokenBytes = 0;
  std::string header;
  ReaderOptions options;
  std::unique_ptr<RecordSplitter> splitter;
  std::string pending;
  bool isAtEnd = false;
  std::atomic<bool> isCancelled = false;
  std::vector<std::string> names;

  mutable std::mutex mutex;
  std::deque<std::shared_ptr<Piece>> pieces;
  int64_t arrived = 0;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_STREAMS_SAMPLESTREAM_H
