// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The limits that control groups grant: a container that may use two processors
// of 64, and 8 GiB of the memory, sees all of both.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_MACHINE_CONTROLGROUPS_H
#define INGOT_RUNTIME_CORE_MACHINE_CONTROLGROUPS_H

#include <cstdint>
#include <string>

namespace ingot::runtime {

/// Returns how many processors' time the control groups of a process grant,
/// rounded up; INT64_MAX without a limit. `membership` is the file that names
/// its groups, `root` the folder that groups are mounted at, in version 2 or 1.
int64_t readCpuQuota(const std::string &membership = "/proc/self/cgroup",
                     const std::string &root = "/sys/fs/cgroup");

/// Returns how many bytes of memory they grant; INT64_MAX without a limit.
int64_t readMemoryLimit(const std::string &membership = "/proc/self/cgroup",
                        const std::string &root = "/sys/fs/cgroup");

/// Returns the number of threads that run at once: one for each processor that
/// this process may run on, but no more than readCpuQuota().
int64_t countProcessors();

/// Throws Error if `bytes`, which a trainer is about to use, are more than
/// `limit`: the operating system would end it without a word.
void checkMemoryLimit(int64_t bytes, int64_t limit);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_MACHINE_CONTROLGROUPS_H
