// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Fields of protobuf messages as they lie in a file.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_TEXT_PROTOFIELDS_H
#define INGOT_RUNTIME_CORE_TEXT_PROTOFIELDS_H

#include <cstdint>
#include <string>
#include <string_view>

namespace ingot::runtime {

inline void addVarint(std::string &to, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

/// Adds a field that is a number.
inline void addNumber(std::string &to, int field, uint64_t value) {
  addVarint(to, field << 3);
  addVarint(to, value);
}

/// Adds a field that is a text or a message. Fields may come in any order, and
/// parts of a message one after the other.
inline void addField(std::string &to, int field, std::string_view value) {
  addVarint(to, field << 3 | 2);
  addVarint(to, value.size());
  to += value;
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_TEXT_PROTOFIELDS_H
