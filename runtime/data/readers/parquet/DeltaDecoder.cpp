// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/readers/parquet/DeltaDecoder.h"

#include "runtime/data/readers/parquet/Metadata.h"

#include <algorithm>
#include <cstring>

using namespace ingot::runtime;
using namespace ingot::runtime::parquet;

static Error broken(const std::string &where) {
  return damaged(where, "the packed numbers of a page are damaged");
}

uint64_t parquet::takeVarint(std::string_view &bytes,
                             const std::string &where) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    uint64_t byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80)
      return value;
  }
  throw broken(where);
}

uint64_t parquet::takeBits(std::string_view bytes, uint64_t &position, int bits,
                           const std::string &where) {
  if (bits == 0)
    return 0;
  uint64_t first = position / 8, shift = position % 8;
  position += static_cast<uint64_t>(bits);
  if (position > 8 * static_cast<uint64_t>(bytes.size()))
    throw broken(where);
  // Nine bytes at most.
  uint64_t low = 0, high = 0;
  size_t size = bytes.size() - first;
  std::memcpy(&low, bytes.data() + first, std::min<size_t>(size, 8));
  if (shift + static_cast<uint64_t>(bits) > 64)
    high = static_cast<uint8_t>(bytes[first + 8]);
  uint64_t value = low >> shift | (shift ? high << (64 - shift) : 0);
  return bits == 64 ? value : value & ((uint64_t(1) << bits) - 1);
}

DeltaDecoder::DeltaDecoder(std::string_view bytes, const std::string &where)
    : bytes(bytes), where(where) {
  uint64_t blockSize = takeVarint(this->bytes, where);
  parts = takeVarint(this->bytes, where);
  count = takeVarint(this->bytes, where);
  value = takeVarint(this->bytes, where);
  value = value >> 1 ^ (~(value & 1) + 1);
  constexpr uint64_t mostSize = uint64_t(1) << 30, group = 32;
  if (parts == 0 || blockSize > mostSize || blockSize % parts != 0 ||
      blockSize / parts % group != 0 || blockSize == 0)
    throw broken(where);
  partSize = blockSize / parts;
  part = parts;
}

uint64_t DeltaDecoder::next() {
  if (taken == count)
    throw damaged(where, "a page has fewer values than it says");
  if (taken++ == 0)
    return value;
  if (left == 0)
    enterPart();
  --left;
  value += least + takeBits(packed, position, bits, where);
  return value;
}

void DeltaDecoder::enterBlock() {
  least = takeVarint(bytes, where);
  least = least >> 1 ^ (~(least & 1) + 1);
  if (parts > bytes.size())
    throw broken(where);
  widths = bytes.substr(0, parts);
  bytes.remove_prefix(parts);
  part = 0;
}

void DeltaDecoder::enterPart() {
  if (part == parts)
    enterBlock();
  bits = static_cast<uint8_t>(widths[part++]);
  constexpr int mostBits = 64;
  if (bits > mostBits)
    throw broken(where);
  left = partSize;
  uint64_t size = partSize / 8 * static_cast<uint64_t>(bits);
  if (size > bytes.size())
    throw broken(where);
  packed = bytes.substr(0, size);
  bytes.remove_prefix(size);
  position = 0;
}
