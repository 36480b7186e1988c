// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/WireCollectives.h"

#include "runtime/comm/AllToAll.h"
#include "runtime/comm/Chain.h"
#include "runtime/comm/GroupWire.h"
#include "runtime/comm/ReduceParts.h"
#include "runtime/comm/Tree.h"

#include <cstring>
#include <utility>

using namespace ingot::runtime;

/// Every MPI library has 2^15 tags: one half for all ranks together, and a part
/// of the other half for each choice of axes.
static constexpr int32_t kTags = 1 << 14, kGroupTags = 1 << 9;

/// Bytes of a shard below which the latency of a ring's steps is not worth it.
static constexpr int64_t kSmallShard = 16 << 10;

WireCollectives::WireCollectives(std::shared_ptr<Wire> given, int32_t tags)
    : Collectives(given->getRank(), given->getSize()), wire(std::move(given)),
      tags(tags) {}

WireCollectives::WireCollectives(std::unique_ptr<Wire> given)
    : WireCollectives(std::shared_ptr<Wire>(std::move(given)), kTags) {}

std::unique_ptr<Collectives>
WireCollectives::makeGroup(const std::vector<int64_t> &members, int32_t axes) {
  auto group =
      std::make_shared<GroupWire>(wire, members, kTags + axes * kGroupTags);
  return std::unique_ptr<Collectives>(
      new WireCollectives(std::move(group), kGroupTags));
}

/// All ranks start the same operations in the same order.
int32_t WireCollectives::getTag() {
  lastTag = (lastTag + 1) % tags;
  return lastTag;
}

std::unique_ptr<Pending> WireCollectives::startRing(Ring::Part part, void *data,
                                                    int64_t elements,
                                                    DType type,
                                                    Reduction reduction) {
  Ring::Shards shards{static_cast<char *>(data), type, reduction, {}};
  for (int64_t of = 0; of < getSize(); ++of)
    shards.ranges.push_back(getShard(elements, of, getSize()));
  return std::make_unique<Ring>(*wire, getTag(), part, std::move(shards),
                                staging);
}

std::unique_ptr<Pending> WireCollectives::startAllReduce(void *data,
                                                         int64_t elements,
                                                         DType type,
                                                         Reduction reduction) {
  int64_t bytes = elements * ingot::runtime::getSize(type);
  if (bytes >= kSmallShard * getSize())
    return startRing(Ring::Part::Both, data, elements, type, reduction);
  Tree::Operand operand{static_cast<char *>(data), elements, type, reduction};
  return std::make_unique<Tree>(*wire, getTag(), operand);
}

std::unique_ptr<Pending>
WireCollectives::startReduceScatter(void *data, int64_t elements, DType type) {
  return startRing(Ring::Part::Reduce, data, elements, type);
}

std::unique_ptr<Pending>
WireCollectives::startGatherShards(void *data, int64_t elements, DType type) {
  return startRing(Ring::Part::Gather, data, elements, type);
}

std::unique_ptr<Pending>
WireCollectives::startAllGather(const void *from, void *to, int64_t bytes) {
  char *blocks = static_cast<char *>(to);
  if (bytes != 0)
    std::memcpy(blocks + getRank() * bytes, from, static_cast<size_t>(bytes));
  if (bytes < kSmallShard)
    return std::make_unique<Tree>(*wire, getTag(), blocks, bytes);
  // Each rank's block is its shard of the bytes.
  Ring::Shards shards{blocks, DType::U8, Reduction::Sum, {}};
  for (int64_t of = 0; of < getSize(); ++of)
    shards.ranges.push_back({of * bytes, (of + 1) * bytes});
  return std::make_unique<Ring>(*wire, getTag(), Ring::Part::Gather,
                                std::move(shards), staging);
}

std::unique_ptr<Pending>
WireCollectives::startReduceParts(const void *from, void *to, int64_t elements,
                                  DType type, Reduction reduction) {
  ReduceParts::Parts parts{static_cast<const char *>(from),
                           static_cast<char *>(to), elements, type, reduction};
  return std::make_unique<ReduceParts>(*wire, getTag(), parts, staging);
}

std::unique_ptr<Pending>
WireCollectives::startAllToAll(const void *from, void *to, int64_t bytes) {
  return std::make_unique<AllToAll>(*wire, getTag(), from, to, bytes);
}

std::unique_ptr<Pending>
WireCollectives::startBroadcast(void *data, int64_t bytes, int64_t root) {
  return std::make_unique<Chain>(*wire, getTag(), data, bytes, root);
}
