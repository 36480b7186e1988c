// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/Ring.h"

#include "runtime/comm/Reductions.h"

#include <algorithm>
#include <utility>

using namespace ingot::runtime;
namespace abi = ingot::abi;

StagingPool::Block StagingPool::take() {
  if (idle.empty())
    return Block(kChunkBytes * kWindow);
  Block block = std::move(idle.back());
  idle.pop_back();
  return block;
}

void StagingPool::give(Block block) { idle.push_back(std::move(block)); }

Ring::Ring(Wire &wire, int32_t tag, Part part, Shards given, StagingPool &pool)
    : WireOperation(wire, tag), rank(wire.getRank()), size(wire.getSize()),
      shards(std::move(given)), pool(pool) {
  int64_t shardBytes =
      shards.ranges.front().getCount() * ingot::runtime::getSize(shards.type);
  chunks = std::max<int64_t>(1, abi::divideCeil(shardBytes, kChunkBytes));
  int64_t half = (size - 1) * chunks;
  reduceMessages = part == Part::Gather ? 0 : half;
  messages = reduceMessages + (part == Part::Reduce ? 0 : half);
  if (reduceMessages > 0)
    staging = pool.take();
}

Ring::~Ring() {
  if (!staging.empty())
    pool.give(std::move(staging));
}

Ring::Chunk Ring::getChunk(int64_t shard, int64_t index) const {
  const ElementRange &range =
      shards.ranges[static_cast<size_t>((shard + 2 * size) % size)];
  // Chunks consist of whole cache lines.
  constexpr int64_t unit = INGOT_SHARD_ELEMENTS;
  int64_t units = abi::divideCeil(range.getCount(), unit);
  auto bound = [&](int64_t of) {
    return std::min(range.end, range.begin + units * of / chunks * unit);
  };
  int64_t begin = bound(index);
  return {shards.data + begin * ingot::runtime::getSize(shards.type),
          bound(index + 1) - begin};
}

/// The result of a shard starts at the rank after its owner and ends at the
/// owner, from which the shard is passed around the ring.
Ring::Chunk Ring::getSent(int64_t index) const {
  int64_t step = index / chunks;
  int64_t shard = isCombined(index) ? rank - 1 - step
                                    : rank - (step - reduceMessages / chunks);
  return getChunk(shard, index % chunks);
}

Ring::Chunk Ring::getReceived(int64_t index) const {
  int64_t step = index / chunks;
  int64_t shard = isCombined(index)
                      ? rank - 2 - step
                      : rank - 1 - (step - reduceMessages / chunks);
  return getChunk(shard, index % chunks);
}

char *Ring::getStaging(int64_t index) {
  return staging.data() + index % kWindow * kChunkBytes;
}

int64_t Ring::getBytes(const Chunk &chunk) const {
  return chunk.elements * ingot::runtime::getSize(shards.type);
}

int64_t Ring::getAwaited() const {
  return receives.getDone() < messages ? getLast() : getNext();
}

bool Ring::advanceReceives() {
  // The chunk that a gathered one overwrites was sent in the reduction.
  auto mayPost = [&](int64_t index) {
    return isCombined(index) || reduceMessages == 0 ||
           index - reduceMessages < sends.getDone();
  };
  while (receives.hasRoom() && receives.getStarted() < messages &&
         mayPost(receives.getStarted())) {
    int64_t index = receives.getStarted();
    Chunk chunk = getReceived(index);
    char *to = isCombined(index) ? getStaging(index) : chunk.data;
    receives.add(wire.receive(getLast(), tag, to, getBytes(chunk)));
  }
  bool any = false;
  while (receives.advance(wire)) {
    int64_t index = receives.getDone() - 1;
    Chunk chunk = getReceived(index);
    if (isCombined(index))
      combineElements(getStaging(index), chunk.data, chunk.elements,
                      shards.type, shards.reduction);
    any = true;
  }
  return any;
}

bool Ring::advanceSends() {
  // A rank sends what it has received, except for its first chunks.
  while (sends.hasRoom() && sends.getStarted() < messages &&
         sends.getStarted() - chunks < receives.getDone()) {
    Chunk chunk = getSent(sends.getStarted());
    sends.add(wire.send(getNext(), tag, chunk.data, getBytes(chunk)));
  }
  bool any = false;
  while (sends.advance(wire))
    any = true;
  return any;
}

bool Ring::test() {
  bool any = true;
  while (any) {
    any = advanceReceives();
    any |= advanceSends();
  }
  return receives.getDone() == messages && sends.getDone() == messages;
}
