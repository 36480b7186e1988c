// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Sums and shards along a ring of ranks: each sends to the next and receives
// from the one before (Patarasuk and Yuan, "Bandwidth optimal all-reduce
// algorithms for clusters of workstations", 2009). A rank sends (N - 1) / N of
// the bytes to reduce, and as many to gather, the least there can be.
//
// Shards are sent in chunks, so that one is on its way while another is added,
// and what is added is still in the cache.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_MPIRING_H
#define INGOT_RUNTIME_COMM_MPIRING_H

#include "runtime/abi/Shard.h"
#include "runtime/comm/Collectives.h"

#include <mpi.h>

#include <array>
#include <vector>

namespace ingot::runtime {

/// Throws std::runtime_error with MPI's message.
void checkMpi(int status);

/// sum += addend, element by element. Half precision adds in f32 and rounds.
void addElements(const char *addend, char *sum, int64_t count, DType type);

/// Memory for what arrives, kept from one operation to the next.
class StagingPool {
public:
  using Block = std::vector<char>;

  Block take();
  void give(Block block);

private:
  std::vector<Block> idle;
};

class MpiRing : public Pending {
public:
  /// Which of the two halves of an all-reduce: each rank's shard becomes the
  /// sum, and every shard becomes that of the rank that has it.
  enum class Part { Reduce, Gather, Both };

  static constexpr int64_t kChunkBytes = 512 << 10;
  /// Chunks on their way at a time, in each direction.
  static constexpr int64_t kWindow = 3;

  /// `tag` is of this operation alone, and the same on all ranks. There are at
  /// least two.
  MpiRing(MPI_Comm ranks, int tag, Part part, void *data, int64_t elements,
          DType type, StagingPool &pool);
  ~MpiRing() override;

  bool test() override;

private:
  struct Chunk {
    char *data;
    int64_t elements;
  };

  /// Of the message `index` that this rank sends, or receives.
  Chunk getSent(int64_t index) const;
  Chunk getReceived(int64_t index) const;
  Chunk getChunk(int64_t shard, int64_t index) const;
  bool isSummed(int64_t index) const { return index < reduceMessages; }
  char *getStaging(int64_t index);
  int getBytes(const Chunk &chunk) const;

  bool advanceReceives();
  bool advanceSends();

  MPI_Comm ranks;
  int tag;
  char *data;
  int64_t elements;
  DType type;
  int rank = 0, size = 1;
  StagingPool &pool;
  StagingPool::Block staging;

  /// Chunks of a shard, messages of a rank until its shard is the sum, and all.
  int64_t chunks, reduceMessages, messages;
  /// Messages: posted before asked for, asked for before done.
  int64_t posted = 0, received = 0, started = 0, sent = 0;
  std::array<MPI_Request, kWindow> receives, sends;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_MPIRING_H
