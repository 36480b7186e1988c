// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Reduce-scatter of a tensor that stays as it is, along a ring of ranks: a
// chunk of a part starts at the rank after its owner, each rank combines its
// own elements with it, and the owner has the result. A rank sends (N - 1) / N
// of the tensor's bytes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_REDUCEPARTS_H
#define INGOT_RUNTIME_COMM_REDUCEPARTS_H

#include "runtime/comm/Ring.h"
#include "runtime/comm/WireOperation.h"

namespace ingot::runtime {

class ReduceParts : public WireOperation {
public:
  /// A part of `elements` for each rank at `from`; `to` receives this rank's.
  struct Parts {
    const char *from;
    char *to;
    int64_t elements;
    DType type;
    Reduction reduction;
  };

  /// On at least two ranks.
  ReduceParts(Wire &wire, int32_t tag, const Parts &parts, StagingPool &pool);
  ~ReduceParts() override { pool.give(std::move(staging)); }

  bool test() override;

private:
  /// A chunk of the part that the message `index` carries, in each part.
  struct Chunk {
    int64_t part, begin, elements;
  };
  /// A chunk takes all its steps around the ring before the messages of the
  /// next one, so that what has been received is sent soon.
  Chunk getChunk(int64_t index, int64_t behind) const;
  bool isFirst(int64_t index) const { return index % (size - 1) == 0; }
  bool isLast(int64_t index) const { return (index + 1) % (size - 1) == 0; }
  const char *getOwn(const Chunk &chunk) const;
  char *getStaging(int64_t index);
  int64_t getBytes(const Chunk &chunk) const { return chunk.elements * width; }
  void combine(int64_t index);
  bool mayReceive(int64_t index) const;
  bool maySend(int64_t index) const;
  int64_t getNext() const { return (wire.getRank() + 1) % size; }
  int64_t getLast() const { return (wire.getRank() + size - 1) % size; }
  int64_t getAwaited() const override;
  bool advanceReceives();
  bool advanceSends();

  Parts parts;
  StagingPool &pool;
  StagingPool::Block staging;
  int64_t size, width, messages;
  Lane receives, sends;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_REDUCEPARTS_H
