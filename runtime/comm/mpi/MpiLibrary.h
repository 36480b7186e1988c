// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The library of MPI that a rank loads. The wire is compiled for each binary
// interface, and linked against no library: it takes MPI's functions from the
// one that was loaded before it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_MPI_MPILIBRARY_H
#define INGOT_RUNTIME_COMM_MPI_MPILIBRARY_H

#include "runtime/comm/mpi/MpiKind.h"
#include "runtime/comm/mpi/MpiWire.h"

namespace ingot::runtime {

/// Loads the library of MPI that $INGOT_MPI names, or else one of the kind
/// `first` before others, and the wire for it. Returns the function that
/// connects. Throws failure where there is none.
decltype(&ingot_connect_mpi) loadMpi(MpiKind first);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_MPI_MPILIBRARY_H
