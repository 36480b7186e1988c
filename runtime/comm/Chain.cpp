// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/Chain.h"

#include "runtime/abi/Align.h"

#include <algorithm>

using namespace ingot::runtime;

Chain::Chain(Wire &wire, int32_t tag, void *data, int64_t bytes, int64_t root)
    : WireOperation(wire, tag), data(static_cast<char *>(data)), bytes(bytes) {
  int64_t rank = wire.getRank(), size = wire.getSize();
  last = (rank + size - 1) % size;
  next = (rank + 1) % size;
  int64_t chunks = ingot::abi::divideCeil(bytes, kChunkBytes);
  incoming = rank == root ? 0 : chunks;
  outgoing = next == root ? 0 : chunks;
}

int64_t Chain::getAwaited() const {
  return receives.getDone() < incoming ? last : next;
}

bool Chain::advance() {
  auto getBytes = [&](int64_t index) {
    return std::min(kChunkBytes, bytes - index * kChunkBytes);
  };
  while (receives.hasRoom() && receives.getStarted() < incoming) {
    int64_t index = receives.getStarted();
    receives.add(
        wire.receive(last, tag, data + index * kChunkBytes, getBytes(index)));
  }
  bool any = false;
  while (receives.advance(wire))
    any = true;
  while (sends.hasRoom() && sends.getStarted() < outgoing &&
         (incoming == 0 || sends.getStarted() < receives.getDone())) {
    int64_t index = sends.getStarted();
    sends.add(
        wire.send(next, tag, data + index * kChunkBytes, getBytes(index)));
  }
  while (sends.advance(wire))
    any = true;
  return any;
}

bool Chain::test() {
  while (advance()) {
  }
  return receives.getDone() == incoming && sends.getDone() == outgoing;
}
