// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Files of tokens.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Tokens.h"

#include "runtime/core/Error.h"

#include <cstdint>
#include <cstring>

using namespace ingot::runtime;

static constexpr int32_t kMagic = 20240520, kVersion = 1;
static constexpr size_t kHeaderBytes = 256 * sizeof(int32_t);

/// Reads a number of the header, which the caller knows to be there.
static int32_t readField(std::string_view bytes, size_t index) {
  int32_t value;
  std::memcpy(&value, bytes.data() + index * sizeof(value), sizeof(value));
  return value;
}

bool ingot::runtime::isTokens(std::string_view bytes) {
  return bytes.size() >= sizeof(kMagic) && readField(bytes, 0) == kMagic;
}

std::string_view ingot::runtime::readTokens(std::string_view bytes,
                                            const std::string &where) {
  auto malformed = [&](const std::string &what) {
    return badInput(where, what,
                    "write the tokens in the layout of llm.c: 256 int32 "
                    "(20240520, 1, the number of tokens), then uint16 tokens");
  };
  if (!isTokens(bytes))
    throw malformed("not a file of tokens");
  if (bytes.size() < kHeaderBytes)
    throw malformed("the header is truncated");
  if (int32_t found = readField(bytes, 1); found != kVersion)
    throw malformed("version " + std::to_string(found) + " is not supported");
  int64_t count = readField(bytes, 2);
  bytes.remove_prefix(kHeaderBytes);
  if (count < 0 ||
      static_cast<uint64_t>(count) * sizeof(uint16_t) != bytes.size())
    throw malformed("the header says " + std::to_string(count) +
                    " tokens, the file has " + std::to_string(bytes.size()) +
                    " bytes of them");
  return bytes;
}
