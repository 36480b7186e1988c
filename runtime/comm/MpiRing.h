// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Reduce-scatter and all-gather along a ring of ranks: each sends to the next
// and receives from the one before (Patarasuk and Yuan, "Bandwidth optimal
// all-reduce algorithms for clusters of workstations", 2009). A rank sends
// (N - 1) / N of the bytes to reduce, and the same number to gather, which is
// the least possible.
//
// Shards are sent in chunks, so that one is in flight while another is added,
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

/// Computes sum += addend, element by element. 16-bit types are added in f32
/// and rounded.
void addElements(const char *addend, char *sum, int64_t count, DType type);

/// Memory for received chunks, kept from one operation to the next.
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
  /// Which phases of an all-reduce to run: in the first each rank's shard
  /// becomes the sum, in the second every shard becomes that of the rank that
  /// owns it.
  enum class Part { Reduce, Gather, Both };

  static constexpr int64_t kChunkBytes = 512 << 10;
  /// The most chunks in flight at a time, in each direction.
  static constexpr int64_t kWindow = 3;

  /// `tag` belongs to this operation only, and is the same on all ranks, of
  /// which there are at least two.
  MpiRing(MPI_Comm ranks, int tag, Part part, void *data, int64_t elements,
          DType type, StagingPool &pool);
  ~MpiRing() override;

  bool test() override;

private:
  struct Chunk {
    char *data;
    int64_t elements;
  };

  /// The chunk of the message `index` that this rank sends, or receives.
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

  /// The number of chunks of a shard, of messages that a rank sends until its
  /// shard is the sum, and of all messages that it sends.
  int64_t chunks, reduceMessages, messages;
  /// The number of messages whose reception was posted and is done, and whose
  /// sending was started and is done.
  int64_t posted = 0, received = 0, started = 0, sent = 0;
  std::array<MPI_Request, kWindow> receives, sends;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_MPIRING_H
