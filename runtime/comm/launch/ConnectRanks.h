// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Connects the ranks of a run. Programs link this by name (-u
// ingot_connect_ranks): trainers that were not compiled for several ranks do
// without the transports, and the function is null there.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_LAUNCH_CONNECTRANKS_H
#define INGOT_RUNTIME_COMM_LAUNCH_CONNECTRANKS_H

#include "runtime/comm/Collectives.h"
#include "runtime/comm/RankMesh.h"
#include "runtime/comm/launch/Launch.h"

#include <chrono>
#include <functional>
#include <string>

namespace ingot::runtime {

class Error;

/// The limit of a start, and the functions it calls.
struct StartSettings {
  /// The limit of waits. Starts take 20 seconds at least: processes start
  /// slowly on a busy machine, however fast its steps are.
  std::chrono::seconds limit;
  /// Prints a note of what a start waits for.
  std::function<void(const std::string &)> note;
  /// Ends the process. MPI waits for all ranks, and nothing else can end that
  /// wait; a thread calls this function.
  std::function<void(const Error &)> giveUp;
  /// The mesh of the ranks, along whose axes they have groups.
  RankMesh mesh = {};

  std::chrono::seconds getStartLimit() const;
};

extern "C" {
/// Connects the ranks of a launch. Throws failure where MPI is missing, or
/// lostRank after the limit.
__attribute__((weak)) ingot::runtime::Collectives *
ingot_connect_ranks(const ingot::runtime::Launch &launch,
                    const ingot::runtime::StartSettings &settings);
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_LAUNCH_CONNECTRANKS_H
