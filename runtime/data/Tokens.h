// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Files of tokens, in the layout of llm.c.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_TOKENS_H
#define INGOT_RUNTIME_DATA_TOKENS_H

#include <string>
#include <string_view>

namespace ingot::runtime {

/// Whether `bytes` begin like a file of tokens.
bool isTokens(std::string_view bytes);

/// The tokens in a file, little-endian 16-bit numbers, in place. The file is a
/// header of 256 little-endian 32-bit numbers (20240520, the version 1, the
/// number of tokens, zeros) and the tokens. Throws badInput naming `where`.
std::string_view readTokens(std::string_view bytes, const std::string &where);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_TOKENS_H
