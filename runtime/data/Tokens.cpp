// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Token files.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Tokens.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <cstring>

using namespace ingot::runtime;

static constexpr int32_t kMagic = 20240520, kVersion = 1;
/// llm.c's layout for vocabularies beyond 16 bits.
static constexpr int32_t kWideMagic = 20240801, kWideVersion = 7;

template <typename T> static T readAt(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

static int32_t readField(std::string_view bytes, size_t index) {
  return readAt<int32_t>(bytes, index * sizeof(int32_t));
}

int64_t Tokens::get(int64_t index) const {
  int64_t token = 0;
  convert(bytes.data() + index * getSize(dtype), dtype, &token, DType::I64, 1);
  return token;
}

bool ingot::runtime::isTokens(std::string_view bytes) {
  return bytes.size() >= sizeof(kMagic) &&
         (readField(bytes, 0) == kMagic || readField(bytes, 0) == kWideMagic);
}

std::optional<TokenHeader>
ingot::runtime::readTokenHeader(std::string_view bytes) {
  if (bytes.size() < kTokenHeaderBytes || !isTokens(bytes))
    return std::nullopt;
  bool isWide = readField(bytes, 0) == kWideMagic;
  int32_t count = readField(bytes, 2);
  if (readField(bytes, 1) != (isWide ? kWideVersion : kVersion) || count < 0)
    return std::nullopt;
  return TokenHeader{isWide ? DType::U32 : DType::U16,
                     static_cast<uint64_t>(count)};
}

Tokens ingot::runtime::readTokens(std::string_view bytes,
                                  const std::string &where) {
  auto malformed = [&](const std::string &what) {
    return badInput(where, what,
                    "write the tokens in the layout of llm.c: 256 int32 "
                    "(20240520, 1, the number of tokens), then uint16 tokens; "
                    "of a file without a header, give the type: FILE:u16");
  };
  if (!isTokens(bytes))
    throw malformed("not a file of tokens");
  if (bytes.size() < kTokenHeaderBytes)
    throw malformed("the header is truncated");
  bool isWide = readField(bytes, 0) == kWideMagic;
  if (int32_t found = readField(bytes, 1);
      found != (isWide ? kWideVersion : kVersion))
    throw malformed("version " + std::to_string(found) + " is not supported");
  Tokens tokens;
  tokens.dtype = isWide ? DType::U32 : DType::U16;
  int64_t count = readField(bytes, 2);
  bytes.remove_prefix(kTokenHeaderBytes);
  if (count < 0 ||
      static_cast<uint64_t>(count * getSize(tokens.dtype)) != bytes.size())
    throw malformed("the header says " + std::to_string(count) +
                    " tokens, the file has " + std::to_string(bytes.size()) +
                    " bytes of them");
  tokens.bytes = bytes;
  return tokens;
}

bool ingot::runtime::isTokenIndex(std::string_view bytes) {
  return bytes.starts_with(std::string_view("MMIDIDX\0\0", 9));
}

Tokens ingot::runtime::readIndexedTokens(std::string_view index,
                                         std::string_view bytes,
                                         const std::string &where) {
  auto malformed = [&](const std::string &what) {
    return badInput(where, what,
                    "write the pair again with Megatron-LM's preprocess_data");
  };
  constexpr size_t headerBytes = 9 + 8 + 1 + 8 + 8;
  if (!isTokenIndex(index) || index.size() < headerBytes)
    throw malformed("not an index of tokens");
  if (auto version = readAt<uint64_t>(index, 9); version != 1)
    throw malformed("version " + std::to_string(version) + " is not supported");
  Tokens tokens;
  switch (static_cast<uint8_t>(index[17])) {
  case 1:
    tokens.dtype = DType::U8;
    break;
  case 3:
    tokens.dtype = DType::I16;
    break;
  case 4:
    tokens.dtype = DType::I32;
    break;
  case 5:
    tokens.dtype = DType::I64;
    break;
  case 8:
    tokens.dtype = DType::U16;
    break;
  default:
    throw malformed("the type of the tokens has the unknown code " +
                    std::to_string(static_cast<uint8_t>(index[17])));
  }
  auto sequences = readAt<uint64_t>(index, 18);
  auto documents = readAt<uint64_t>(index, 26);
  index.remove_prefix(headerBytes);
  constexpr uint64_t perSequence = sizeof(int32_t) + sizeof(int64_t);
  if (sequences > index.size() / perSequence ||
      documents > (index.size() - sequences * perSequence) / sizeof(int64_t))
    throw malformed("the index is truncated");
  uint64_t total = 0;
  for (uint64_t i = 0; i < sequences; ++i) {
    auto length = readAt<int32_t>(index, i * sizeof(int32_t));
    if (length < 0)
      throw malformed("sequence " + std::to_string(i) +
                      " has a negative length");
    total += static_cast<uint64_t>(length);
  }
  if (total * static_cast<uint64_t>(getSize(tokens.dtype)) != bytes.size())
    throw malformed("the index says " + std::to_string(total) +
                    " tokens, the file beside it has " +
                    std::to_string(bytes.size()) + " bytes");
  tokens.bytes = bytes;
  return tokens;
}

std::vector<int64_t> ingot::runtime::readDocuments(std::string_view index,
                                                   const std::string &where) {
  constexpr size_t counts = 18, lengths = 9 + 8 + 1 + 8 + 8;
  auto sequences = readAt<uint64_t>(index, counts);
  auto ends = readAt<uint64_t>(index, counts + sizeof(uint64_t));
  // An index of documents begins with 0, and each entry is the number of the
  // sequences before the next one.
  size_t at = lengths + sequences * (sizeof(int32_t) + sizeof(int64_t));
  std::vector<int64_t> starts = {0};
  int64_t token = 0;
  uint64_t sequence = 0;
  for (uint64_t i = 0; i < ends; ++i) {
    auto end = readAt<int64_t>(index, at + i * sizeof(int64_t));
    if (end < static_cast<int64_t>(sequence) ||
        end > static_cast<int64_t>(sequences))
      throw badInput(where, "the documents of the index are not in order",
                     "write the pair again with Megatron-LM's preprocess_data");
    for (; sequence < static_cast<uint64_t>(end); ++sequence)
      token += readAt<int32_t>(index, lengths + sequence * sizeof(int32_t));
    if (token != starts.back())
      starts.push_back(token);
  }
  for (; sequence < sequences; ++sequence) {
    token += readAt<int32_t>(index, lengths + sequence * sizeof(int32_t));
    if (token != starts.back())
      starts.push_back(token);
  }
  return starts;
}

std::vector<int64_t> ingot::runtime::splitDocuments(const Tokens &tokens,
                                                    int64_t separator) {
  std::vector<int64_t> starts = {0};
  int64_t count = tokens.count();
  int64_t after = count > 0 && tokens.get(0) == separator ? 0 : 1;
  constexpr int64_t piece = 4096;
  int64_t values[piece];
  for (int64_t i = 0; i < count; i += piece) {
    int64_t some = std::min(piece, count - i);
    convert(tokens.bytes.data() + i * getSize(tokens.dtype), tokens.dtype,
            values, DType::I64, some);
    for (int64_t k = 0; k < some; ++k)
      if (values[k] == separator && i + k + after > starts.back())
        starts.push_back(i + k + after);
  }
  if (starts.back() != count)
    starts.push_back(count);
  return starts;
}

Tokens ingot::runtime::readPlainTokens(std::string_view bytes, DType type,
                                       const std::string &where) {
  if (bytes.size() % static_cast<size_t>(getSize(type)) != 0)
    throw badInput(where,
                   std::to_string(bytes.size()) +
                       " bytes cannot be divided into tokens of type " +
                       std::string(getName(type)),
                   "give the type that the tokens were written with");
  return {type, bytes};
}
