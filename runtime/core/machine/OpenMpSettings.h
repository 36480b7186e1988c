// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Settings of threads by OpenMP's environment variables. Users know them from
// other programs, so that values are read as GCC's library reads them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_MACHINE_OPENMPSETTINGS_H
#define INGOT_RUNTIME_CORE_MACHINE_OPENMPSETTINGS_H

#include "runtime/core/machine/Processors.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace ingot::runtime {

/// The most threads of a process that have work of their own.
inline constexpr int kMostThreads = 256;

struct OpenMpSettings {
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  /// The first number of OMP_NUM_THREADS, or the processors of the process.
  int64_t threads = 1;
  /// OMP_THREAD_LIMIT.
  int64_t threadLimit = kUnlimited;
  /// Whether OMP_MAX_ACTIVE_LEVELS allows more than one thread.
  bool isParallel = true;
  /// The places that threads are bound to in turn, by OMP_PLACES or
  /// GOMP_CPU_AFFINITY, unless OMP_PROC_BIND forbids it, or by OMP_PROC_BIND
  /// alone. Without any, threads are not bound.
  std::vector<Processors> places;
  /// The first variable with a value that is not understood, which is as if it
  /// were not set.
  std::string ignored;

  /// The place of a thread of the pool; empty where threads are not bound.
  Processors getPlace(int64_t thread) const {
    return places.empty() ? Processors() : places[thread % places.size()];
  }

  /// The variable of a name, or null.
  using Variables = std::function<const char *(const char *)>;

  /// Reads the settings of a process that may run on `allowed`, of a machine
  /// whose processors are described below the folder `system`.
  static OpenMpSettings read(const Variables &variables,
                             const Processors &allowed,
                             const std::string &system = "/sys/devices/system");
  /// The settings of this process, as it was at the first call.
  static const OpenMpSettings &get();
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_MACHINE_OPENMPSETTINGS_H
