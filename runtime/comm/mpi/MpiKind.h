// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The binary interfaces of MPI: Open MPI's, and MPICH's, which Intel's MPI,
// MVAPICH and Cray's share.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_MPI_MPIKIND_H
#define INGOT_RUNTIME_COMM_MPI_MPIKIND_H

namespace ingot::runtime {

enum class MpiKind { OpenMpi, Mpich };

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_MPI_MPIKIND_H
