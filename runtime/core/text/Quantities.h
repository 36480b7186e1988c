// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Times and rates for readers.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_TEXT_QUANTITIES_H
#define INGOT_RUNTIME_CORE_TEXT_QUANTITIES_H

#include <string>

namespace ingot::runtime {

/// Describes a time that is to come, as in "42 s", "12:05 min" or "3:07 h";
/// empty if it is unknown.
std::string describeSeconds(double seconds);

/// Describes a time that was measured: short ones have digits after the point,
/// or are in milliseconds.
std::string describeMeasured(double seconds);

/// Describes a rate with three digits, as in "0.42", "731" or "1.64M".
std::string describeRate(double rate);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_TEXT_QUANTITIES_H
