// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/AllToAll.h"

#include "runtime/abi/Align.h"

#include <algorithm>
#include <cstring>

using namespace ingot::runtime;

AllToAll::AllToAll(Wire &wire, int32_t tag, const void *from, void *to,
                   int64_t bytes)
    : WireOperation(wire, tag), from(static_cast<const char *>(from)),
      to(static_cast<char *>(to)), bytes(bytes),
      chunks(ingot::abi::divideCeil(bytes, kChunkBytes)),
      messages(chunks * (wire.getSize() - 1)) {
  int64_t own = wire.getRank() * bytes;
  if (bytes != 0)
    std::memcpy(this->to + own, this->from + own, static_cast<size_t>(bytes));
}

AllToAll::Message AllToAll::getMessage(int64_t index, int64_t direction) const {
  int64_t size = wire.getSize(), away = 1 + index / chunks;
  int64_t other = (wire.getRank() + direction * away + size) % size;
  int64_t begin = index % chunks * kChunkBytes;
  return {other, other * bytes + begin, std::min(kChunkBytes, bytes - begin)};
}

int64_t AllToAll::getAwaited() const {
  return receives.getDone() < messages
             ? getMessage(receives.getDone(), -1).other
             : getMessage(sends.getDone(), 1).other;
}

bool AllToAll::advance() {
  while (receives.hasRoom() && receives.getStarted() < messages) {
    Message next = getMessage(receives.getStarted(), -1);
    receives.add(wire.receive(next.other, tag, to + next.first, next.bytes));
  }
  while (sends.hasRoom() && sends.getStarted() < messages) {
    Message next = getMessage(sends.getStarted(), 1);
    sends.add(wire.send(next.other, tag, from + next.first, next.bytes));
  }
  bool any = false;
  while (receives.advance(wire))
    any = true;
  while (sends.advance(wire))
    any = true;
  return any;
}

bool AllToAll::test() {
  while (advance()) {
  }
  return receives.getDone() == messages && sends.getDone() == messages;
}
