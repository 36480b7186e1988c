// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The wire over MPI. It is a library of its own for each interface of MPI
// (MpiLibrary.h), which is loaded where MPI's launchers start ranks, so that
// others run on machines without MPI.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_MPI_MPIWIRE_H
#define INGOT_RUNTIME_COMM_MPI_MPIWIRE_H

#include "runtime/comm/Wire.h"

/// The function that the library defines. Returns a new object, or null and
/// writes an error message of at most `capacity` bytes.
extern "C" ingot::runtime::Wire *ingot_connect_mpi(char *message,
                                                   int64_t capacity);

#endif // INGOT_RUNTIME_COMM_MPI_MPIWIRE_H
