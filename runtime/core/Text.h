// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Text from files and users in messages: it may be long, and may hold control
// sequences of terminals.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_TEXT_H
#define INGOT_RUNTIME_CORE_TEXT_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// Replaces control characters, and bytes that are no UTF-8, by '?'. Newlines
/// stay if `keepsLines`.
std::string makePrintable(std::string_view text, bool keepsLines = false);

/// Cuts out the middle of a text that is longer than `most` bytes.
std::string shorten(std::string_view text, size_t most);

/// Cuts out the middle of long words, and of the whole text if it is very long.
/// Paths of usual lengths stay.
std::string shortenMessage(std::string_view text);

/// Returns a name from a file for one cell of a table: printable and not long.
std::string describeName(std::string_view name);

/// Lists the first few names, each shortened.
std::string listNames(const std::vector<std::string> &names);

/// Returns the shape of a tensor, such as "[2, 3]".
std::string describeShape(const std::vector<int64_t> &shape);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_TEXT_H
