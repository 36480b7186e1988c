// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The machine profile that `--machine measured` uses.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_MEASUREDPROFILE_H
#define INGOT_TOOLS_INGOTC_MEASUREDPROFILE_H

#include <string>

namespace ingot {

/// Returns the profile that ingot-measure wrote of this machine: once for a
/// model of CPU, number of threads and version, in the user's cache directory.
/// The first call measures. Throws failure.
std::string findMeasuredProfile();

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_MEASUREDPROFILE_H
