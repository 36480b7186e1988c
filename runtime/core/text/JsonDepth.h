// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How deep JSON nests, asked before it is parsed: parsers recurse, or build a
// tree whose nodes take many times the memory of the text.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_TEXT_JSONDEPTH_H
#define INGOT_RUNTIME_CORE_TEXT_JSONDEPTH_H

#include <cstddef>
#include <string_view>

namespace ingot {

/// The deepest nesting of arrays and objects that is read; nothing that
/// programs write comes near.
inline constexpr size_t kMostJsonDepth = 64;

/// Whether arrays and objects nest deeper than `kMostJsonDepth`. The text may
/// be anything.
inline bool isTooDeep(std::string_view text) {
  size_t depth = 0;
  bool isString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (isString) {
      // An escaped character cannot end the string.
      if (c == '\\')
        ++i;
      isString = c != '"';
    } else if (c == '"') {
      isString = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMostJsonDepth)
        return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

} // namespace ingot

#endif // INGOT_RUNTIME_CORE_TEXT_JSONDEPTH_H
