// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/unpacking/Blocks.h"

#include "runtime/core/Error.h"

#include <cstdint>
#include <cstring>

using namespace ingot::runtime;

namespace {

/// Takes from the packed bytes and adds to the unpacked ones, within both.
class Block {
public:
  Block(std::string_view bytes, char *to, size_t size, const std::string &where)
      : bytes(bytes), to(to), size(size), where(where) {}

  bool isAtEnd() const { return bytes.empty(); }
  bool isFull() const { return done == size; }

  [[noreturn]] void fail() const {
    throw badInput(where, "cannot decompress: the block is damaged",
                   "write the file again");
  }

  size_t take() { return takeNumber(1); }

  /// Takes a number of some bytes, the least significant one first.
  size_t takeNumber(size_t count) {
    if (bytes.size() < count)
      fail();
    size_t number = 0;
    for (size_t i = 0; i < count; ++i)
      number |= static_cast<size_t>(static_cast<uint8_t>(bytes[i])) << (8 * i);
    bytes.remove_prefix(count);
    return number;
  }

  void addLiteral(size_t count) {
    if (count > bytes.size() || count > size - done)
      fail();
    std::memcpy(to + done, bytes.data(), count);
    bytes.remove_prefix(count);
    done += count;
  }

  /// Repeats what begins `distance` bytes before the end; it may reach into
  /// itself.
  void addCopy(size_t distance, size_t count) {
    if (distance == 0 || distance > done || count > size - done)
      fail();
    char *place = to + done;
    const char *from = place - distance;
    done += count;
    if (distance >= count) {
      std::memcpy(place, from, count);
      return;
    }
    for (size_t i = 0; i < count; ++i)
      place[i] = from[i];
  }

private:
  std::string_view bytes;
  char *to;
  size_t size, done = 0;
  const std::string &where;
};

} // namespace

void ingot::runtime::unpackSnappy(std::string_view bytes, char *to, size_t size,
                                  const std::string &where) {
  Block block(bytes, to, size, where);
  uint64_t said = 0;
  constexpr int mostBits = 32;
  for (int shift = 0;; shift += 7) {
    uint64_t byte = block.take();
    said |= (byte & 0x7f) << shift;
    if (byte < 0x80)
      break;
    if (shift + 7 > mostBits)
      block.fail();
  }
  if (said != size)
    block.fail();
  while (!block.isAtEnd()) {
    size_t tag = block.take(), upper = tag >> 2;
    switch (tag & 3) {
    case 0: {
      // Lengths from 61 on follow in one to four bytes.
      constexpr size_t inTag = 60;
      if (upper >= inTag)
        upper = block.takeNumber(upper - inTag + 1);
      block.addLiteral(upper + 1);
      break;
    }
    case 1: {
      size_t distance = (upper >> 3) << 8;
      distance |= block.take();
      block.addCopy(distance, (upper & 7) + 4);
      break;
    }
    case 2:
      block.addCopy(block.takeNumber(2), upper + 1);
      break;
    default:
      block.addCopy(block.takeNumber(4), upper + 1);
    }
  }
  if (!block.isFull())
    block.fail();
}

void ingot::runtime::unpackLz4(std::string_view bytes, char *to, size_t size,
                               const std::string &where) {
  Block block(bytes, to, size, where);
  // Lengths of 15 and more go on in further bytes, up to one that is not 255.
  auto takeLength = [&](size_t length) {
    if (length != 15)
      return length;
    size_t more = 0;
    do {
      more = block.take();
      length += more;
    } while (more == 255);
    return length;
  };
  while (!block.isAtEnd()) {
    size_t token = block.take();
    block.addLiteral(takeLength(token >> 4));
    // The last sequence has no copy.
    if (block.isAtEnd())
      break;
    size_t distance = block.takeNumber(2);
    constexpr size_t least = 4;
    block.addCopy(distance, takeLength(token & 15) + least);
  }
  if (!block.isFull())
    block.fail();
}
