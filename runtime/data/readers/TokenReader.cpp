// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Windows of tokens.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/readers/Readers.h"

#include "runtime/core/Error.h"
#include "runtime/data/Tokens.h"

#include <algorithm>
#include <filesystem>

using namespace ingot::runtime;

static std::string getPairPath(const std::string &path) {
  return std::filesystem::path(path).replace_extension(".idx").string();
}

bool ingot::runtime::areTokens(std::string_view bytes,
                               const std::string &path) {
  std::error_code ignored;
  return isTokens(bytes) || isTokenIndex(bytes) ||
         (path.ends_with(".bin") &&
          std::filesystem::exists(getPairPath(path), ignored));
}

namespace {

class TokenReader : public Reader {
public:
  TokenReader(MappedFile given, const ReaderOptions &options)
      : Reader(given.getPath()), file(std::move(given)),
        window(options.hasDocuments ? 0 : options.getWindow()) {
    names = {"tokens"};
    if (!options.hasDocuments)
      names.emplace_back("next");
    if (options.tokens) {
      tokens = readPlainTokens(file.getBytes(), *options.tokens, path);
    } else if (isTokens(file.getBytes())) {
      tokens = readTokens(file.getBytes(), path);
    } else if (isTokenIndex(file.getBytes())) {
      index = std::move(file);
      file = MappedFile(
          std::filesystem::path(path).replace_extension(".bin").string());
      tokens = readIndexedTokens(index.getBytes(), file.getBytes(), path);
    } else if (areTokens(file.getBytes(), path)) {
      index = MappedFile(getPairPath(path));
      tokens =
          readIndexedTokens(index.getBytes(), file.getBytes(), index.getPath());
    } else {
      tokens = readTokens(file.getBytes(), path);
    }
    all.dtype = tokens.dtype;
    all.shape = {tokens.count()};
    all.data = tokens.bytes.data();
    if (options.hasDocuments)
      findDocuments(options.separator);
  }

  std::string_view getKind() const override { return "tokens"; }
  int64_t getSamples() const override {
    return window == 0 ? static_cast<int64_t>(documents.size()) - 1
                       : std::max<int64_t>(tokens.count() - 1, 0) / window;
  }
  /// The tokens of the whole file, for either field.
  const Array *load(size_t field) override { return &all; }

  Value read(size_t field, int64_t sample,
             std::string &storage) const override {
    auto size = static_cast<size_t>(getSize(tokens.dtype));
    auto first = static_cast<size_t>(getStart(sample)) + field;
    auto count = static_cast<size_t>(getStart(sample + 1) - getStart(sample));
    Value value;
    value.dtype = tokens.dtype;
    value.shape = {static_cast<int64_t>(count)};
    value.bytes = tokens.bytes.substr(first * size, count * size);
    return value;
  }

  Value readFrom(size_t field, int64_t token) const override {
    auto size = static_cast<size_t>(getSize(tokens.dtype));
    Value value;
    value.dtype = tokens.dtype;
    value.shape = {window};
    value.bytes =
        tokens.bytes.substr((static_cast<size_t>(token) + field) * size,
                            static_cast<size_t>(window) * size);
    return value;
  }
  int64_t countStarts() const override { return tokens.count() - window; }

  std::vector<std::string> listFiles() const override {
    return {file.getPath(), index.getPath()};
  }

  std::string describe(size_t field, int64_t sample) const override {
    return path + ": tokens from " +
           std::to_string(firstNumber * window + getStart(sample));
  }

private:
  /// The first token of a sample.
  int64_t getStart(int64_t sample) const {
    return window == 0 ? documents[static_cast<size_t>(sample)]
                       : sample * window;
  }

  void findDocuments(std::optional<int64_t> separator) {
    std::string_view known = index.getBytes();
    if (separator)
      documents = splitDocuments(tokens, *separator);
    else if (!known.empty())
      documents = readDocuments(known, index.getPath());
    else
      throw badInput(path, "the file does not say where its documents end",
                     "name the token at their ends (or beginnings) with the "
                     "step split, as in --input tokens=pack,split:50256");
  }

  MappedFile file, index;
  Tokens tokens;
  Array all;
  /// The tokens of a sample; 0 if samples are documents.
  int64_t window;
  /// Where these begin, and the end of the last one.
  std::vector<int64_t> documents;
};

} // namespace

std::unique_ptr<Reader>
ingot::runtime::openTokens(MappedFile file, const ReaderOptions &options) {
  return std::make_unique<TokenReader>(std::move(file), options);
}
