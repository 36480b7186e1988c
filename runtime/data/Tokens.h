// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Token files: llm.c's layouts, and the pairs .bin and .idx of Megatron-LM.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_TOKENS_H
#define INGOT_RUNTIME_DATA_TOKENS_H

#include "runtime/core/DType.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// The tokens of a file, in place, as little-endian integers.
struct Tokens {
  DType dtype = DType::U16;
  std::string_view bytes;

  int64_t count() const {
    return static_cast<int64_t>(bytes.size()) / getSize(dtype);
  }
  int64_t get(int64_t index) const;
};

/// Whether `bytes` begin like one of llm.c's token files.
bool isTokens(std::string_view bytes);

/// Returns the tokens of one of llm.c's files. They follow a header of 256
/// little-endian 32-bit numbers (20240520 for 16-bit tokens or 20240801 for
/// 32-bit ones, the version 1 or 7, the number of tokens, zeros). Throws
/// badInput naming `where`.
Tokens readTokens(std::string_view bytes, const std::string &where);

/// Returns the type and the number of the tokens that follow a header of
/// llm.c's; none if it is no such header.
struct TokenHeader {
  DType type = DType::U16;
  uint64_t count = 0;
};
std::optional<TokenHeader> readTokenHeader(std::string_view bytes);
/// The bytes of the header.
inline constexpr size_t kTokenHeaderBytes = 256 * sizeof(int32_t);

/// Whether `bytes` begin like Megatron-LM's index of a token file.
bool isTokenIndex(std::string_view bytes);

/// Returns the tokens of a file by its index: all documents in the order of the
/// file. Throws badInput naming `where`, the index.
Tokens readIndexedTokens(std::string_view index, std::string_view bytes,
                         const std::string &where);

/// Returns where the documents of such a file begin in its tokens, and the end
/// of the last one. The index has been read.
std::vector<int64_t> readDocuments(std::string_view index,
                                   const std::string &where);

/// Returns the same of tokens in which `separator` ends each document, or
/// begins each one if it is the first.
std::vector<int64_t> splitDocuments(const Tokens &tokens, int64_t separator);

/// Returns the tokens of a file without a header. Throws badInput naming
/// `where`.
Tokens readPlainTokens(std::string_view bytes, DType type,
                       const std::string &where);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_TOKENS_H
