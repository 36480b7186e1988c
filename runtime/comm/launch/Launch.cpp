// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/launch/Launch.h"

#include "runtime/core/Error.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

using namespace ingot::runtime;

/// The names of a launcher's variables for the rank and the number of ranks.
namespace {
struct Names {
  const char *rank, *size;
  MpiKind mpi = MpiKind::OpenMpi;
};
} // namespace

static constexpr Names kTorch = {"RANK", "WORLD_SIZE"};
/// The names of Open MPI, of MPICH, Intel's MPI and Slurm's PMI-2, and of
/// MVAPICH.
static constexpr Names kMpi[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", MpiKind::OpenMpi},
    {"PMI_RANK", "PMI_SIZE", MpiKind::Mpich},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", MpiKind::Mpich}};
/// The size of a step of srun; that of the allocation is also set for mpirun
/// and for shells.
static constexpr Names kSlurm = {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"};

/// Returns a variable; null if it is not set, or empty.
static const char *getVariable(const char *name) {
  const char *value = std::getenv(name);
  return value && *value ? value : nullptr;
}

/// Reads a variable that has to be an integer from `least` to `most`.
static int64_t readInteger(const char *name, int64_t least, int64_t most,
                           const std::string &reason) {
  const char *text = getVariable(name);
  constexpr const char *hint =
      "torchrun --no-python sets RANK, WORLD_SIZE, MASTER_ADDR and "
      "MASTER_PORT; without a launcher, set all four for each rank";
  if (!text)
    throw usageError(name, "is not set, although " + reason, hint);
  const char *end = text + std::strlen(text);
  int64_t value = 0;
  auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end || value < least || value > most)
    throw usageError(name,
                     "'" + std::string(text) + "' is not an integer from " +
                         std::to_string(least) + " to " + std::to_string(most),
                     hint);
  return value;
}

/// Sets rank and size by a launcher's variables. Returns whether they are set.
static bool readRanks(const Names &names, Launch &launch) {
  constexpr int64_t most = INT32_MAX;
  if (!getVariable(names.size))
    return false;
  launch.size = readInteger(names.size, 1, most, "");
  if (launch.size > 1)
    launch.rank = readInteger(names.rank, 0, launch.size - 1,
                              std::string(names.size) + " is " +
                                  std::to_string(launch.size));
  launch.source = std::string(names.rank) + " and " + names.size;
  launch.mpi = names.mpi;
  return true;
}

/// Sets where rank 0 waits.
static void readMaster(Launch &launch) {
  // The port itself is torchrun's own.
  constexpr int64_t mostPort = UINT16_MAX - 1;
  std::string reason = std::to_string(launch.size) + " ranks meet over TCP";
  const char *host = getVariable("MASTER_ADDR");
  if (!host)
    throw usageError(
        "MASTER_ADDR", "is not set, although " + reason,
        "torchrun --no-python sets it; without a launcher, set MASTER_ADDR to "
        "the host of rank 0, and MASTER_PORT to a port that is free there");
  launch.host = host;
  launch.port = static_cast<uint16_t>(
      readInteger("MASTER_PORT", 1, mostPort, reason) + 1);
  for (const char *name : {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"})
    if (const char *value = getVariable(name))
      launch.run += std::string(value) + "/";
}

/// Reads the variables of the launcher; those of the inner one, where one
/// starts the other.
static Launch readLaunch() {
  Launch launch;
  bool isTorchrun = getVariable("TORCHELASTIC_RUN_ID") != nullptr;
  if (isTorchrun && readRanks(kTorch, launch)) {
    launch.transport = Transport::Tcp;
    return launch;
  }
  for (const Names &names : kMpi)
    if (readRanks(names, launch))
      return launch;
  // Scripts for Slurm set these as well.
  if (getVariable("MASTER_ADDR") && readRanks(kTorch, launch)) {
    launch.transport = Transport::Tcp;
    return launch;
  }
  if (getVariable("SLURM_STEP_ID") && getVariable(kSlurm.rank) &&
      readRanks(kSlurm, launch))
    return launch;
  readRanks(kTorch, launch);
  launch.transport = Transport::Tcp;
  return launch;
}

std::optional<Launch>
ingot::runtime::findLaunch(std::optional<Transport> wanted) {
  Launch launch = readLaunch();
  if (launch.size == 1)
    return std::nullopt;
  if (wanted)
    launch.transport = *wanted;
  if (launch.transport == Transport::Tcp)
    readMaster(launch);
  return launch;
}
