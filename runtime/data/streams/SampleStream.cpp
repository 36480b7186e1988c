// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/streams/SampleStream.h"

#include "runtime/core/Error.h"
#include "runtime/data/Tokens.h"

#include <algorithm>
#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

using namespace ingot::runtime;

/// How often is looked whether to go on waiting.
static constexpr int kPauseMs = 50;
/// A sample is not larger.
static constexpr size_t kMostPending = size_t(1) << 30;
static constexpr size_t kPiece = size_t(1) << 20;
/// A number of samples that no stream reaches.
static constexpr int64_t kEndless = int64_t(1) << 62;

namespace {

class StreamReader : public Reader {
public:
  StreamReader(const std::string &path, std::shared_ptr<SampleStream> stream,
               const Reader &first)
      : Reader(path), stream(std::move(stream)), kind(first.getKind()) {
    names = first.getNames();
    // All columns of a table together.
    if (first.findField("*") && !findField("*"))
      names.emplace_back("*");
  }

  std::string_view getKind() const override { return kind; }
  int64_t getSamples() const override { return kEndless; }
  Value read(size_t field, int64_t sample,
             std::string &storage) const override {
    return stream->read(names[field], sample, storage);
  }
  std::vector<std::string> listFiles() const override { return {}; }
  std::string describe(size_t field, int64_t sample) const override {
    return stream->describe(names[field], sample);
  }

private:
  std::shared_ptr<SampleStream> stream;
  std::string kind;
};

} // namespace

static Error noSamples(const std::string &path) {
  return badInput(path, "no samples have come",
                  "write samples to the trainer, as in: generator | trainer "
                  "--data -");
}

SampleStream::SampleStream(std::string path, std::function<bool()> isStopped)
    : path(std::move(path)), isStopped(std::move(isStopped)) {}

std::shared_ptr<SampleStream>
SampleStream::open(const std::string &path, std::optional<DType> tokens,
                   std::function<bool()> isStopped) {
  std::shared_ptr<SampleStream> stream(
      new SampleStream(path, std::move(isStopped)));
  stream->pipe.emplace(path);
  StreamGuess guess;
  std::string begin;
  while (true) {
    guess = guessKind(begin, stream->isAtEnd, tokens.has_value());
    if (guess.kind || !guess.needsMore)
      break;
    if (!stream->receive())
      break;
    begin = stream->pending;
  }
  if (begin.empty() && stream->isAtEnd)
    throw noSamples(path);
  // A stream of no known kind may have no end.
  if (!guess.kind && !guess.isWhole && !guess.needsMore)
    throw unknownKind(path);
  if (!guess.kind) {
    keepInput(path, *stream->pipe, begin);
    return nullptr;
  }
  stream->kind = *guess.kind;
  stream->tokens = tokens;
  if (stream->kind == StreamKind::Tokens && !tokens) {
    stream->hasHeaders = true;
    stream->pending.clear();
    stream->append(begin);
  }
  return stream;
}

std::unique_ptr<Reader> SampleStream::makeReader(const ReaderOptions &given) {
  options = given;
  options.stream = nullptr;
  options.tokens = tokens;
  SplitterOptions how{path};
  while (kind == StreamKind::Tokens && !tokens && !isAtEnd && receive())
    continue;
  if (kind == StreamKind::Tokens) {
    options.tokens = tokens = tokens.value_or(DType::U16);
    how.window = options.getWindow();
    how.tokens = *tokens;
  }
  splitter = makeSplitter(kind, how);
  if (!wait(0))
    throw noSamples(path);
  return std::make_unique<StreamReader>(path, shared_from_this(),
                                        *find(0)->reader);
}

bool SampleStream::wait(int64_t sample) {
  while (sample >= countArrived()) {
    if (addPiece())
      continue;
    if (isAtEnd || !receive())
      return false;
  }
  return true;
}

bool SampleStream::receive() {
  std::string piece(kPiece, '\0');
  while (true) {
    if (isCancelled || isStopped())
      return false;
    std::optional<size_t> some =
        pipe->read(piece.data(), piece.size(), kPauseMs);
    if (!some)
      continue;
    isAtEnd = *some == 0;
    if (isAtEnd && (tokenBytes != 0 || !header.empty()))
      throw badInput(path, "there are fewer tokens than their header says",
                     "write as many tokens as headers say, or none and the "
                     "type of the tokens, as in --data -:u16");
    append(std::string_view(piece).substr(0, *some));
    return true;
  }
}

void SampleStream::append(std::string_view bytes) {
  // Each header says how many tokens follow; files may follow each other.
  while (hasHeaders && !bytes.empty()) {
    if (tokenBytes == 0) {
      size_t count = std::min(kTokenHeaderBytes - header.size(), bytes.size());
      header += bytes.substr(0, count);
      bytes.remove_prefix(count);
      if (header.size() < kTokenHeaderBytes)
        return;
      std::optional<TokenHeader> found = readTokenHeader(header);
      if (!found || found->type != tokens.value_or(found->type))
        throw badInput(path, "there is no header of tokens where one should be",
                       "write as many tokens as headers say, or none and the "
                       "type of the tokens, as in --data -:u16");
      tokens = found->type;
      tokenBytes = found->count * static_cast<uint64_t>(getSize(*tokens));
      header.clear();
      continue;
    }
    size_t count = std::min<uint64_t>(tokenBytes, bytes.size());
    pending += bytes.substr(0, count);
    bytes.remove_prefix(count);
    tokenBytes -= count;
  }
  pending += bytes;
  if (pending.size() > kMostPending)
    throw badInput(path, "a sample has more than 1 GiB",
                   "write smaller samples, or check that lines end");
}

bool SampleStream::addPiece() {
  while (true) {
    RecordSplitter::Part part = splitter->find(pending, isAtEnd);
    if (part.size != 0) {
      std::shared_ptr<Reader> reader =
          openPiece(std::string_view(pending).substr(0, part.size));
      if (names.empty())
        names = reader->getNames();
      std::lock_guard lock(mutex);
      reader->countFrom(arrived);
      pieces.push_back(std::make_shared<Piece>(Piece{arrived, reader}));
      arrived += reader->getSamples();
    }
    pending.erase(0, part.used);
    splitter->remove(part.used);
    if (part.size != 0)
      return true;
    if (part.used == 0)
      return false;
  }
}

std::unique_ptr<Reader> SampleStream::openPiece(std::string_view bytes) const {
  int descriptor = memfd_create("ingot-samples", MFD_CLOEXEC);
  if (descriptor < 0)
    throw failure(path, "no memory for samples: " + describeErrno(),
                  "close programs, or write the samples to a file");
  struct Closer {
    int descriptor;
    ~Closer() { close(descriptor); }
  } closer{descriptor};
  for (std::string_view part : {splitter->getHead(), bytes})
    while (!part.empty()) {
      ssize_t some = ::write(descriptor, part.data(), part.size());
      if (some < 0 && errno == EINTR)
        continue;
      if (some <= 0)
        throw failure(path, "no memory for samples: " + describeErrno(),
                      "close programs, or write the samples to a file");
      part.remove_prefix(static_cast<size_t>(some));
    }
  MappedFile file(descriptor, path);
  switch (kind) {
  case StreamKind::JsonLines:
    return openJsonLines(std::move(file), names);
  case StreamKind::Table:
    return openTable(std::move(file));
  case StreamKind::Tokens:
    return openTokens(std::move(file), options);
  case StreamKind::Tar:
    break;
  }
  return openTar(std::move(file));
}

int64_t SampleStream::countArrived() const {
  std::lock_guard lock(mutex);
  return arrived;
}

void SampleStream::release(int64_t sample) {
  std::lock_guard lock(mutex);
  while (pieces.size() > 1 && pieces[1]->first <= sample)
    pieces.pop_front();
}

std::shared_ptr<SampleStream::Piece> SampleStream::find(int64_t sample) const {
  std::lock_guard lock(mutex);
  auto after = std::upper_bound(
      pieces.begin(), pieces.end(), sample,
      [](int64_t s, const auto &piece) { return s < piece->first; });
  if (after == pieces.begin() || sample >= arrived)
    throw badInput(path + ": sample " + std::to_string(sample),
                   "the stream does not have it",
                   "write the samples to a file");
  return *std::prev(after);
}

Value SampleStream::read(std::string_view name, int64_t sample,
                         std::string &storage) const {
  std::shared_ptr<Piece> piece = find(sample);
  std::optional<size_t> field = piece->reader->findField(name);
  if (!field)
    throw badInput(path + ": sample " + std::to_string(sample),
                   "the sample has no " + std::string(name),
                   "write all fields of each sample");
  Value value = piece->reader->read(*field, sample - piece->first, storage);
  // The piece may be released while the value is used.
  if (value.bytes.data() != storage.data())
    storage.assign(value.bytes);
  value.bytes = storage;
  return value;
}

std::string SampleStream::describe(std::string_view name,
                                   int64_t sample) const {
  std::shared_ptr<Piece> piece = find(sample);
  if (std::optional<size_t> field = piece->reader->findField(name))
    return piece->reader->describe(*field, sample - piece->first);
  return path + ": sample " + std::to_string(sample);
}
