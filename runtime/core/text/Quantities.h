// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Times, rates and sizes for readers.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_TEXT_QUANTITIES_H
#define INGOT_RUNTIME_CORE_TEXT_QUANTITIES_H

#include <cstdint>
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

/// Describes a size in memory or on a disk in the largest unit that it fills,
/// as in "12 B", "1.5 KiB" or "2.0 GiB".
std::string describeBytes(int64_t bytes);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_TEXT_QUANTITIES_H
