// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Memory of the GPU that NCCL exchanges without copies: as windows of symmetric
// memory, whose kernels access all ranks' blocks directly, or as registered
// buffers. What the library has is looked up when it is loaded; blocks that it
// does not register are exchanged like any other memory.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_LIBRARIES_NCCLMEMORY_H
#define INGOT_RUNTIME_CUDA_LIBRARIES_NCCLMEMORY_H

#include "runtime/cuda/driver/Library.h"

#include <cstddef>
#include <map>
#include <nccl.h>
#include <string>
#include <vector>

namespace ingot::runtime {

class Communicator;

class NcclMemory {
public:
  /// Loads NCCL. Throws failure if there is none.
  NcclMemory();

  const Library &getLibrary() const { return library; }

  /// Returns a block that lives until it is freed; null if the library has no
  /// such memory, or none is left.
  void *allocate(size_t bytes);
  /// Adds a block that was allocated otherwise.
  void add(void *block, size_t bytes);
  /// Returns whether the block came from `allocate`, and then frees it.
  bool free(void *block);

  /// Registers all blocks with the communicator of a group. All its ranks call
  /// it at the same point, and have as many blocks of the same sizes. Returns
  /// what the library does not do, for users; empty if exchanges read and write
  /// all blocks directly.
  std::string registerBlocks(ncclComm_t communicator, Communicator &ranks);
  /// Ends that. The communicator has no work that accesses the blocks.
  void deregisterBlocks(ncclComm_t communicator);

private:
  struct Block {
    void *place;
    size_t bytes;
    bool isOwn;
  };
  // The library's types are those of later versions than some headers have.
  using Allocate = ncclResult_t(void **, size_t);
  using Free = ncclResult_t(void *);
  using Register = ncclResult_t(ncclComm_t, void *, size_t, void **);
  using Deregister = ncclResult_t(ncclComm_t, void *);
  using RegisterWindow = ncclResult_t(ncclComm_t, void *, size_t, void **, int);

  /// How blocks are registered.
  enum class Way { Buffers, Windows };
  /// The library's objects for the blocks, null for those that it has none for.
  struct Registration {
    Way way;
    std::vector<void *> handles;
  };
  bool canRegister(Way way) const;
  /// Returns whether the library registers all blocks.
  bool tryRegister(ncclComm_t communicator, Way tried);

  Library library;
  Allocate *ncclMemAlloc = nullptr;
  Free *ncclMemFree = nullptr;
  Register *ncclCommRegister = nullptr;
  Deregister *ncclCommDeregister = nullptr, *ncclCommWindowDeregister = nullptr;
  RegisterWindow *ncclCommWindowRegister = nullptr;
  std::vector<Block> blocks;
  std::map<ncclComm_t, Registration> registrations;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_LIBRARIES_NCCLMEMORY_H
