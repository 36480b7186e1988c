// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Token files in the layout of llm.c.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_TOKENS_H
#define INGOT_RUNTIME_DATA_TOKENS_H

#include <string>
#include <string_view>

namespace ingot::runtime {

/// Whether `bytes` begin like a token file.
bool isTokens(std::string_view bytes);

/// Returns the tokens of a file in place, as little-endian 16-bit numbers. They
/// follow a header of 256 little-endian 32-bit numbers (20240520, the version
/// 1, the number of tokens, zeros). Throws badInput naming `where`.
std::string_view readTokens(std::string_view bytes, const std::string &where);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_TOKENS_H
