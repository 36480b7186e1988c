// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// JSON in one line, with blanks after commas and colons as in Python's, for
// files that people read as well.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_TEXT_JSONLINE_H
#define INGOT_RUNTIME_CORE_TEXT_JSONLINE_H

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ingot::runtime {

/// Formats a value, without a newline. Numbers that are not finite are null.
std::string formatJsonLine(const nlohmann::ordered_json &json);

/// The number that the shortest text of a float stands for.
double shortenFloat(float value);

/// The number with `digits` digits after the point.
double roundTo(double value, int digits);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_TEXT_JSONLINE_H
