// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/libraries/NcclMemory.h"

#include "runtime/comm/Communicator.h"
#include "runtime/core/DType.h"

#include <algorithm>
#include <utility>

using namespace ingot::runtime;

/// NCCL_WIN_COLL_SYMMETRIC: a buffer is at the same place of its window on all
/// ranks.
static constexpr int kSymmetric = 1;

NcclMemory::NcclMemory()
    : library("libnccl.so." + std::to_string(NCCL_MAJOR),
              "install NCCL, or have LD_LIBRARY_PATH name its folder") {
  library.loadIfThere(ncclMemAlloc, "ncclMemAlloc");
  library.loadIfThere(ncclMemFree, "ncclMemFree");
  library.loadIfThere(ncclCommRegister, "ncclCommRegister");
  library.loadIfThere(ncclCommDeregister, "ncclCommDeregister");
  library.loadIfThere(ncclCommWindowRegister, "ncclCommWindowRegister");
  library.loadIfThere(ncclCommWindowDeregister, "ncclCommWindowDeregister");
}

void *NcclMemory::allocate(size_t bytes) {
  void *place = nullptr;
  if (!ncclMemAlloc || !ncclMemFree ||
      ncclMemAlloc(&place, bytes) != ncclSuccess || !place)
    return nullptr;
  blocks.push_back({place, bytes, /*isOwn=*/true});
  return place;
}

void NcclMemory::add(void *block, size_t bytes) {
  blocks.push_back({block, bytes, /*isOwn=*/false});
}

bool NcclMemory::free(void *block) {
  auto found =
      std::find_if(blocks.begin(), blocks.end(),
                   [&](const Block &other) { return other.place == block; });
  if (found == blocks.end())
    return false;
  bool isOwn = found->isOwn;
  blocks.erase(found);
  if (isOwn)
    (void)ncclMemFree(block);
  return isOwn;
}

bool NcclMemory::canRegister(Way tried) const {
  if (tried == Way::Buffers)
    return ncclCommRegister && ncclCommDeregister;
  // Windows are for memory that the library can map on other GPUs.
  return ncclCommWindowRegister && ncclCommWindowDeregister &&
         std::all_of(blocks.begin(), blocks.end(),
                     [](const Block &block) { return block.isOwn; });
}

bool NcclMemory::tryRegister(ncclComm_t communicator, Way tried) {
  Registration &made = registrations[communicator] = {tried, {}};
  bool isDone = true;
  // All ranks make the same calls, whatever comes of each.
  for (const Block &block : blocks) {
    void *handle = nullptr;
    ncclResult_t result =
        tried == Way::Windows
            ? ncclCommWindowRegister(communicator, block.place, block.bytes,
                                     &handle, kSymmetric)
            : ncclCommRegister(communicator, block.place, block.bytes, &handle);
    made.handles.push_back(result == ncclSuccess ? handle : nullptr);
    // There is no object where the connection of the GPUs has no such access.
    isDone &= made.handles.back() != nullptr;
  }
  return isDone;
}

std::string NcclMemory::registerBlocks(ncclComm_t communicator,
                                       Communicator &ranks) {
  // What some ranks register and others do not, no exchange may use.
  auto isEverywhere = [&](bool is) {
    float missing = is ? 0 : 1;
    ranks.allReduce(&missing, 1, DType::F32, "the memory for NCCL");
    return missing == 0;
  };
  for (Way tried : {Way::Windows, Way::Buffers}) {
    if (!isEverywhere(canRegister(tried)))
      continue;
    if (isEverywhere(tryRegister(communicator, tried)))
      return tried == Way::Windows
                 ? ""
                 : "NCCL has no symmetric memory here: it exchanges registered "
                   "buffers";
    deregisterBlocks(communicator);
  }
  return "NCCL registers no memory here: it copies what it exchanges";
}

void NcclMemory::deregisterBlocks(ncclComm_t communicator) {
  auto found = registrations.find(communicator);
  if (found == registrations.end())
    return;
  for (void *handle : found->second.handles)
    if (handle)
      (void)(found->second.way == Way::Windows
                 ? ncclCommWindowDeregister
                 : ncclCommDeregister)(communicator, handle);
  registrations.erase(found);
}
