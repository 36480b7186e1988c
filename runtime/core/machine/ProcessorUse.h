// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Who uses the processors of this machine: times that are measured while other
// processes use them say little.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_MACHINE_PROCESSORUSE_H
#define INGOT_RUNTIME_CORE_MACHINE_PROCESSORUSE_H

#include <string>

namespace ingot::runtime {

/// Seconds of processors since some time: of this process and those that it has
/// waited for, of all processes, and with those in which processors were idle.
struct ProcessorUse {
  double own = 0, busy = 0, all = 0;
};

/// Reads what the system counts; zeros where it does not.
ProcessorUse readProcessorUse();

/// Returns the part of the machine that other processes took between two
/// readings, from 0 to 1.
double getOthersShare(const ProcessorUse &from, const ProcessorUse &to);

/// The part above which a machine is busy.
inline constexpr double kMostOthers = 0.2;

/// Says that other processes took that part, as in "other processes took 45 %
/// of the machine".
std::string describeOthers(double share);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_MACHINE_PROCESSORUSE_H
