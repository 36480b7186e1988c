// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/streams/RecordSplitter.h"

#include "runtime/core/text/ByteOrderMark.h"
#include "runtime/data/Npy.h"
#include "runtime/data/Tokens.h"
#include "runtime/data/files/TarIndex.h"
#include "runtime/data/unpacking/Gzip.h"
#include "runtime/data/unpacking/Zstd.h"

#include <algorithm>

using namespace ingot::runtime;

/// A block of tar, which is enough to tell all kinds by.
static constexpr size_t kBlock = 512;
/// The names of a table's columns are not longer.
static constexpr size_t kMostNames = size_t(1) << 20;

static bool isText(std::string_view line) {
  return std::none_of(line.begin(), line.end(), [](char c) {
    return static_cast<uint8_t>(c) < ' ' && c != '\t' && c != '\r';
  });
}

StreamGuess ingot::runtime::guessKind(std::string_view begin, bool isAtEnd,
                                      bool areTokens) {
  if (areTokens)
    return {StreamKind::Tokens};
  if (areJsonLines(begin))
    return {StreamKind::JsonLines};
  if (begin.size() < kBlock && !isAtEnd)
    return {std::nullopt, /*needsMore=*/true};
  if (isZip(begin) || isNpy(begin) || isArrow(begin) || isParquet(begin) ||
      isGzip(begin) || isZstd(begin) || isTokenIndex(begin))
    return {std::nullopt, /*needsMore=*/false, /*isWhole=*/true};
  if (isTokens(begin))
    return {StreamKind::Tokens};
  if (isTar(begin))
    return {StreamKind::Tar};
  if (!isText(begin.substr(0, begin.find('\n'))) || begin.starts_with('\n'))
    return {};
  if (begin.find('\n') != std::string_view::npos)
    return {StreamKind::Table};
  // Tables of many columns have a long first line.
  return {std::nullopt, /*needsMore=*/!isAtEnd && begin.size() < kMostNames};
}

Error ingot::runtime::unknownKind(const std::string &path) {
  return badInput(path, "no kind of file that samples are read from",
                  "give a file of one of the kinds .npz, .npy, .bin, .tar, "
                  ".arrow, .parquet, .jsonl and .csv, or a folder "
                  "DIR/CLASS/FILE of pictures; .tar and others may be "
                  "compressed with gzip or zstd");
}

namespace {

class LineSplitter : public RecordSplitter {
public:
  Part find(std::string_view bytes, bool isAtEnd) override {
    size_t last = bytes.substr(seen).rfind('\n');
    if (last != std::string_view::npos)
      end = seen + last + 1;
    seen = bytes.size();
    if (isAtEnd)
      end = seen;
    // Empty lines are no samples, nor is a byte order mark before one.
    bool isEmpty =
        skipByteOrderMark(bytes.substr(0, end)).find_first_not_of(" \t\r\n") ==
        bytes.npos;
    return {isEmpty ? 0 : end, end};
  }
  void remove(size_t count) override {
    seen -= count;
    end = 0;
  }

private:
  size_t seen = 0, end = 0;
};

/// Lines whose ends may be quoted; the first one has names.
class TableSplitter : public RecordSplitter {
public:
  Part find(std::string_view bytes, bool isAtEnd) override {
    for (; seen < bytes.size(); ++seen) {
      isQuoted ^= bytes[seen] == '"';
      if (bytes[seen] != '\n' || isQuoted)
        continue;
      if (head.empty()) {
        head = bytes.substr(0, seen + 1);
        return {0, seen + 1};
      }
      end = seen + 1;
    }
    if (isAtEnd)
      end = seen;
    bool isEmpty = bytes.substr(0, end).find_first_not_of("\r\n") == bytes.npos;
    return {isEmpty ? 0 : end, end};
  }
  void remove(size_t count) override {
    seen = seen < count ? 0 : seen - count;
    end = 0;
  }
  std::string_view getHead() const override { return head; }

private:
  std::string head;
  size_t seen = 0, end = 0;
  bool isQuoted = false;
};

class TokenSplitter : public RecordSplitter {
public:
  explicit TokenSplitter(const SplitterOptions &options)
      : path(options.path), type(options.tokens),
        window(static_cast<size_t>(options.window)),
        size(static_cast<size_t>(getSize(options.tokens))) {}

  Part find(std::string_view bytes, bool isAtEnd) override {
    if (isAtEnd && bytes.size() % size != 0)
      throw badInput(path,
                     "the bytes cannot be divided into tokens of type " +
                         std::string(getName(type)),
                     "give the type that the tokens were written with");
    size_t count = bytes.size() / size;
    // A sample needs the token after its last one, with which the next begins.
    size_t samples = count == 0 ? 0 : (count - 1) / window;
    if (samples == 0)
      return {};
    return {(samples * window + 1) * size, samples * window * size};
  }
  void remove(size_t count) override {}

private:
  std::string path;
  DType type;
  size_t window, size;
};

/// Members with the same path up to the first dot of the name, one after
/// another.
class TarSplitter : public RecordSplitter {
public:
  explicit TarSplitter(std::string path) : path(std::move(path)) {}

  Part find(std::string_view bytes, bool isAtEnd) override {
    while (!isOver) {
      std::optional<StreamedMember> member =
          takeMember(bytes.substr(next), path);
      if (!member)
        break;
      if (member->isEnd) {
        isOver = true;
        end = next;
        break;
      }
      if (!member->key.empty() && member->key != key) {
        // What comes before belongs to whole samples.
        end = next;
        key = member->key;
      }
      next += member->size;
    }
    if (isAtEnd && !isOver)
      end = bytes.size();
    // Behind the end there is padding.
    return {end, isOver ? bytes.size() : end};
  }
  void remove(size_t count) override {
    next = next < count ? 0 : next - count;
    end = 0;
  }

private:
  std::string path, key;
  size_t next = 0, end = 0;
  bool isOver = false;
};

} // namespace

std::unique_ptr<RecordSplitter>
ingot::runtime::makeSplitter(StreamKind kind, const SplitterOptions &options) {
  switch (kind) {
  case StreamKind::JsonLines:
    return std::make_unique<LineSplitter>();
  case StreamKind::Table:
    return std::make_unique<TableSplitter>();
  case StreamKind::Tokens:
    return std::make_unique<TokenSplitter>(options);
  case StreamKind::Tar:
    break;
  }
  return std::make_unique<TarSplitter>(options.path);
}
