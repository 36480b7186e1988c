// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The byte order mark that programs on Windows begin files of text with.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_TEXT_BYTEORDERMARK_H
#define INGOT_RUNTIME_CORE_TEXT_BYTEORDERMARK_H

#include <string_view>

namespace ingot::runtime {

/// Returns the text of a file without the mark that it may begin with.
inline std::string_view skipByteOrderMark(std::string_view text) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  if (text.starts_with(mark))
    text.remove_prefix(mark.size());
  return text;
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_TEXT_BYTEORDERMARK_H
