// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/libraries/NcclGroup.h"

#include "runtime/comm/Communicator.h"
#include "runtime/core/Error.h"

#include <utility>

using namespace ingot::runtime;

NcclFunctions::NcclFunctions(const Library &library) {
#define INGOT_LOAD(name) library.load(name, #name);
  INGOT_NCCL_FUNCTIONS(INGOT_LOAD)
#undef INGOT_LOAD
}

void NcclFunctions::check(ncclResult_t result, const char *action) const {
  if (result != ncclSuccess && result != ncclInProgress)
    throw failure("NCCL",
                  std::string(action) + ": " + ncclGetErrorString(result),
                  "NCCL_DEBUG=WARN says more; see the other ranks' messages");
}

NcclGroup::NcclGroup(const NcclFunctions &nccl, Communicator &ranks,
                     NcclMemory &memory)
    : nccl(nccl), ranks(ranks), memory(memory) {
  ncclUniqueId id{};
  if (ranks.getRank() == 0)
    nccl.check(nccl.ncclGetUniqueId(&id), "starting NCCL");
  ranks.broadcast(&id, sizeof(id), 0, "the address for NCCL");
  nccl.check(nccl.ncclCommInitRank(&communicator,
                                   static_cast<int>(ranks.getSize()), id,
                                   static_cast<int>(ranks.getRank())),
             "connecting the GPUs");
  note = memory.registerBlocks(communicator, ranks);
}

NcclGroup::~NcclGroup() {
  // This runs after failures as well, when another one makes no difference.
  if (communicator) {
    memory.deregisterBlocks(communicator);
    (void)nccl.ncclCommDestroy(communicator);
  }
}

std::string NcclGroup::findProblem() const {
  ncclResult_t state = ncclSuccess;
  ncclResult_t asked = nccl.ncclCommGetAsyncError(communicator, &state);
  if (asked != ncclSuccess || (state != ncclSuccess && state != ncclInProgress))
    return nccl.ncclGetErrorString(asked != ncclSuccess ? asked : state);
  return "";
}

void NcclGroup::abort() {
  if (communicator)
    (void)nccl.ncclCommAbort(std::exchange(communicator, nullptr));
}
