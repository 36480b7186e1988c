// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The standard output, on which programs print what they were asked for.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_CONSOLE_ANSWER_H
#define INGOT_RUNTIME_CORE_CONSOLE_ANSWER_H

#include <string_view>

namespace ingot::runtime {

/// Writes the text to the standard output at once. Returns false if nobody
/// reads it any more; throws failure if it cannot be written.
bool printAnswer(std::string_view text);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_CONSOLE_ANSWER_H
