// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/mpi/MpiLibrary.h"

#include "runtime/core/Error.h"

#include <cstdlib>
#include <dlfcn.h>
#include <optional>
#include <string>
#include <vector>

using namespace ingot::runtime;

static constexpr const char *kHint =
    "keep the trainer's .libs folder beside it and install the MPI of the "
    "launcher, such as Open MPI (libopenmpi3) or MPICH (libmpich12); or set "
    "MASTER_ADDR and MASTER_PORT and give --transport tcp";

/// The names of a library of MPI, by its interface. Debian calls MPICH's so.
static std::vector<const char *> getLibraries(MpiKind kind) {
  if (kind == MpiKind::OpenMpi)
    return {"libmpi.so.40"};
  return {"libmpi.so.12", "libmpich.so.12"};
}

static const char *getWire(MpiKind kind) {
  return kind == MpiKind::OpenMpi ? "libingot_openmpi.so" : "libingot_mpich.so";
}

/// Loads a library of MPI. Its plugins, and the wire, look for its symbols
/// among the global ones.
static void *loadGlobally(const char *path, std::string &problems) {
  void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    problems += (problems.empty() ? "" : "; ") + std::string(dlerror());
  return library;
}

/// Says what interface a library has, or the program where one was preloaded.
/// Open MPI's first objects are symbols; MPICH's are numbers.
static std::optional<MpiKind> findKind(void *library) {
  if (dlsym(library, "ompi_mpi_comm_world"))
    return MpiKind::OpenMpi;
  if (dlsym(library, "MPI_Init_thread"))
    return MpiKind::Mpich;
  return std::nullopt;
}

static MpiKind findMpi(MpiKind first) {
  std::string problems;
  if (const char *path = std::getenv("INGOT_MPI"); path && *path) {
    void *library = loadGlobally(path, problems);
    if (!library)
      throw failure("INGOT_MPI", problems, "give the path of a library of MPI");
    std::optional<MpiKind> kind = findKind(library);
    if (!kind)
      throw failure("INGOT_MPI", std::string(path) + " is no library of MPI",
                    "give the path of libmpi.so.40 or libmpi.so.12");
    return *kind;
  }
  if (std::optional<MpiKind> kind = findKind(RTLD_DEFAULT))
    return *kind;
  MpiKind other = first == MpiKind::OpenMpi ? MpiKind::Mpich : MpiKind::OpenMpi;
  for (MpiKind kind : {first, other})
    for (const char *name : getLibraries(kind))
      if (void *library = loadGlobally(name, problems))
        // Old versions of one have the other's name.
        return findKind(library).value_or(kind);
  throw failure("MPI", problems, kHint);
}

decltype(&ingot_connect_mpi) ingot::runtime::loadMpi(MpiKind first) {
  void *wire = dlopen(getWire(findMpi(first)), RTLD_NOW | RTLD_LOCAL);
  void *connect = wire ? dlsym(wire, "ingot_connect_mpi") : nullptr;
  if (!connect)
    throw failure("MPI", dlerror(), kHint);
  return reinterpret_cast<decltype(&ingot_connect_mpi)>(connect);
}
