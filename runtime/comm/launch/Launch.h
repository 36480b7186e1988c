// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How the ranks of this run were started, as the variables of launchers say:
// mpirun's, Slurm's, and those that torchrun, Kubernetes' operators and scripts
// set for PyTorch.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_LAUNCH_LAUNCH_H
#define INGOT_RUNTIME_COMM_LAUNCH_LAUNCH_H

#include "runtime/comm/mpi/MpiKind.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ingot::runtime {

/// The wires between ranks.
enum class Transport { Mpi, Tcp };

struct Launch {
  Transport transport = Transport::Mpi;
  int64_t rank = 0, size = 1;
  /// The variables that say so, for messages.
  std::string source;
  /// The interface of the MPI that most likely has this launcher.
  MpiKind mpi = MpiKind::OpenMpi;

  // For TCP: rank 0 waits for the others at a port of a host.
  std::string host;
  uint16_t port = 0;
  /// The name of the run, which tells those apart that use the same port one
  /// after the other.
  std::string run;
};

/// Returns how the ranks were started; nothing if there is one. The transport
/// follows from the variables unless `wanted` names it. Throws usageError for
/// variables that are missing or make no sense.
std::optional<Launch> findLaunch(std::optional<Transport> wanted = {});

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_LAUNCH_LAUNCH_H
