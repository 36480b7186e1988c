// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Reduce-scatter and all-gather along a ring of ranks: each sends to the next
// and receives from the one before (Patarasuk and Yuan, "Bandwidth optimal
// all-reduce algorithms for clusters of workstations", 2009). A rank sends
// (N - 1) / N of the bytes to reduce, and the same number to gather, which is
// the least possible.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_RING_H
#define INGOT_RUNTIME_COMM_RING_H

#include "runtime/abi/Shard.h"
#include "runtime/comm/WireOperation.h"

#include <vector>

namespace ingot::runtime {

/// Memory for received chunks, kept from one operation to the next.
class StagingPool {
public:
  using Block = std::vector<char>;

  Block take();
  void give(Block block);

private:
  std::vector<Block> idle;
};

class Ring : public WireOperation {
public:
  /// Which phases of an all-reduce to run: in the first each rank's shard
  /// becomes the result, in the second every shard becomes that of the rank
  /// that owns it.
  enum class Part { Reduce, Gather, Both };

  /// Data and the shards of the ranks in it, none longer than the first.
  struct Shards {
    char *data;
    DType type;
    Reduction reduction;
    std::vector<ElementRange> ranges;
  };

  /// On at least two ranks.
  Ring(Wire &wire, int32_t tag, Part part, Shards shards, StagingPool &pool);
  ~Ring() override;

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
  bool isCombined(int64_t index) const { return index < reduceMessages; }
  char *getStaging(int64_t index);
  int64_t getBytes(const Chunk &chunk) const;
  int64_t getNext() const { return (rank + 1) % size; }
  int64_t getLast() const { return (rank + size - 1) % size; }
  int64_t getAwaited() const override;

  bool advanceReceives();
  bool advanceSends();

  int64_t rank, size;
  Shards shards;
  StagingPool &pool;
  StagingPool::Block staging;

  /// The number of chunks of a shard, of messages that a rank sends until its
  /// shard is the result, and of all messages that it sends.
  int64_t chunks, reduceMessages, messages;
  Lane receives, sends;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_RING_H
