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
        window(options.getWindow()) {
    names = {"tokens", "next"};
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
  }

  std::string_view getKind() const override { return "tokens"; }
  int64_t getSamples() const override {
    return std::max<int64_t>(tokens.count() - 1, 0) / window;
  }
  /// The tokens of the whole file, for either field.
  const Array *load(size_t field) override { return &all; }

  Value read(size_t field, int64_t sample,
             std::string &storage) const override {
    auto size = static_cast<size_t>(getSize(tokens.dtype));
    auto first = static_cast<size_t>(sample * window) + field;
    Value value;
    value.dtype = tokens.dtype;
    value.shape = {window};
    value.bytes =
        tokens.bytes.substr(first * size, static_cast<size_t>(window) * size);
    return value;
  }

  std::string describe(size_t field, int64_t sample) const override {
    return path + ": tokens from " + std::to_string(sample * window);
  }

private:
  MappedFile file, index;
  Tokens tokens;
  Array all;
  int64_t window;
};

} // namespace

std::unique_ptr<Reader>
ingot::runtime::openTokens(MappedFile file, const ReaderOptions &options) {
  return std::make_unique<TokenReader>(std::move(file), options);
}
