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

/// The environment variable that says which machine is planned for where
/// --machine does not: built-in, measured or a file.
inline constexpr const char *kMachineVariable = "INGOT_MACHINE";

/// Returns the profile that ingot-measure wrote of this machine: once for a
/// model of CPU, level of INGOT_MAX_ISA, number of threads, version and digest
/// of the profile's fields, in the user's cache directory. The first call
/// measures, and says so on stderr. Throws failure.
std::string findMeasuredProfile();

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_MEASUREDPROFILE_H
