// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// NCCL's communicator of a group of ranks (RankMesh.h).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_LIBRARIES_NCCLGROUP_H
#define INGOT_RUNTIME_CUDA_LIBRARIES_NCCLGROUP_H

#include "runtime/cuda/libraries/NcclMemory.h"

#include <nccl.h>
#include <string>

#define INGOT_NCCL_FUNCTIONS(X)                                                \
  X(ncclAllGather)                                                             \
  X(ncclAllReduce)                                                             \
  X(ncclBroadcast)                                                             \
  X(ncclCommAbort)                                                             \
  X(ncclCommDestroy)                                                           \
  X(ncclCommGetAsyncError)                                                     \
  X(ncclCommInitRank)                                                          \
  X(ncclGetErrorString)                                                        \
  X(ncclGetUniqueId)                                                           \
  X(ncclGroupEnd)                                                              \
  X(ncclGroupStart)                                                            \
  X(ncclRecv)                                                                  \
  X(ncclReduce)                                                                \
  X(ncclReduceScatter)                                                         \
  X(ncclSend)

namespace ingot::runtime {

class Communicator;

/// The functions of the library.
struct NcclFunctions {
  explicit NcclFunctions(const Library &library);

  /// Throws failure unless a call succeeded.
  void check(ncclResult_t result, const char *action) const;

#define INGOT_DECLARE(name) decltype(::name) *name;
  INGOT_NCCL_FUNCTIONS(INGOT_DECLARE)
#undef INGOT_DECLARE
};

class NcclGroup {
public:
  /// Connects the current GPUs of the ranks of a group, which call this at the
  /// same point, and registers the blocks of `memory`. Throws failure.
  NcclGroup(const NcclFunctions &nccl, Communicator &ranks, NcclMemory &memory);
  ~NcclGroup();
  NcclGroup(const NcclGroup &) = delete;
  NcclGroup &operator=(const NcclGroup &) = delete;

  Communicator &getRanks() const { return ranks; }
  ncclComm_t get() const { return communicator; }
  /// How exchanges access memory, for users, if that is not the fastest way.
  const std::string &getNote() const { return note; }
  /// Returns what is wrong with the connection, or "".
  std::string findProblem() const;
  /// Ends what the GPU waits for.
  void abort();

private:
  const NcclFunctions &nccl;
  Communicator &ranks;
  NcclMemory &memory;
  ncclComm_t communicator = nullptr;
  std::string note;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_LIBRARIES_NCCLGROUP_H
