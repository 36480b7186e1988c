// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The processors' time that control groups grant: a container that may use two
// processors of 64 sees all of them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_CPUQUOTA_H
#define INGOT_RUNTIME_CPU_CPUQUOTA_H

#include <cstdint>
#include <string>

namespace ingot::runtime {

/// Returns how many processors' time the control groups of a process grant,
/// rounded up; INT64_MAX without a limit. `membership` is the file that names
/// its groups, `root` the folder that groups are mounted at, in version 2 or 1.
int64_t readCpuQuota(const std::string &membership = "/proc/self/cgroup",
                     const std::string &root = "/sys/fs/cgroup");

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_CPUQUOTA_H
