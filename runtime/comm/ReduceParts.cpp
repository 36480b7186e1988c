// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/ReduceParts.h"

#include "runtime/abi/Align.h"
#include "runtime/comm/Reductions.h"

#include <algorithm>
#include <cstring>

using namespace ingot::runtime;

ReduceParts::ReduceParts(Wire &wire, int32_t tag, const Parts &parts,
                         StagingPool &pool)
    : WireOperation(wire, tag), parts(parts), pool(pool), staging(pool.take()),
      size(wire.getSize()), width(ingot::runtime::getSize(parts.type)),
      messages(ingot::abi::divideCeil(parts.elements * width, kChunkBytes) *
               (size - 1)) {}

ReduceParts::Chunk ReduceParts::getChunk(int64_t index, int64_t behind) const {
  const int64_t each = kChunkBytes / width;
  int64_t begin = index / (size - 1) * each, step = index % (size - 1);
  return {(wire.getRank() + 2 * size - behind - step) % size, begin,
          std::min(each, parts.elements - begin)};
}

const char *ReduceParts::getOwn(const Chunk &chunk) const {
  return parts.from + (chunk.part * parts.elements + chunk.begin) * width;
}

char *ReduceParts::getStaging(int64_t index) {
  return staging.data() + index % kWindow * kChunkBytes;
}

int64_t ReduceParts::getAwaited() const {
  return receives.getDone() < messages ? getLast() : getNext();
}

/// The chunk that was received at the same place has been sent.
bool ReduceParts::mayReceive(int64_t index) const {
  int64_t before = index - kWindow;
  return before < 0 || isLast(before) || sends.getDone() > before + 1;
}

/// A rank sends its own elements first, and then what it has combined.
bool ReduceParts::maySend(int64_t index) const {
  return isFirst(index) || receives.getDone() > index - 1;
}

void ReduceParts::combine(int64_t index) {
  Chunk chunk = getChunk(index, /*behind=*/2);
  const char *own = getOwn(chunk);
  char *arrived = getStaging(index);
  if (!isLast(index))
    return combineElements(own, arrived, chunk.elements, parts.type,
                           parts.reduction);
  char *result = parts.to + chunk.begin * width;
  std::memcpy(result, own, static_cast<size_t>(getBytes(chunk)));
  combineElements(arrived, result, chunk.elements, parts.type, parts.reduction);
}

bool ReduceParts::advanceReceives() {
  while (receives.hasRoom() && receives.getStarted() < messages &&
         mayReceive(receives.getStarted())) {
    int64_t index = receives.getStarted();
    receives.add(wire.receive(getLast(), tag, getStaging(index),
                              getBytes(getChunk(index, /*behind=*/2))));
  }
  bool any = false;
  while (receives.advance(wire)) {
    combine(receives.getDone() - 1);
    any = true;
  }
  return any;
}

bool ReduceParts::advanceSends() {
  while (sends.hasRoom() && sends.getStarted() < messages &&
         maySend(sends.getStarted())) {
    int64_t index = sends.getStarted();
    Chunk chunk = getChunk(index, /*behind=*/1);
    sends.add(wire.send(getNext(), tag,
                        isFirst(index) ? getOwn(chunk) : getStaging(index - 1),
                        getBytes(chunk)));
  }
  bool any = false;
  while (sends.advance(wire))
    any = true;
  return any;
}

bool ReduceParts::test() {
  bool any = true;
  while (any) {
    any = advanceReceives();
    any |= advanceSends();
  }
  return receives.getDone() == messages && sends.getDone() == messages;
}
