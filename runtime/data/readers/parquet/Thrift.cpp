// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/readers/parquet/Thrift.h"

#include "runtime/data/readers/parquet/Errors.h"

using namespace ingot::runtime::parquet;

/// Nothing in Parquet's metadata is nested as deeply.
static constexpr size_t kMostDepth = 32;

void ThriftReader::fail() const {
  throw damaged(where, "the metadata are damaged");
}

uint8_t ThriftReader::takeByte() {
  if (bytes.empty())
    fail();
  uint8_t byte = static_cast<uint8_t>(bytes.front());
  bytes.remove_prefix(1);
  return byte;
}

uint64_t ThriftReader::takeVarint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    uint64_t byte = takeByte();
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80)
      return value;
  }
  fail();
}

static int64_t fromZigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1));
}

int64_t ThriftReader::readInteger() {
  if (type == kByte)
    return static_cast<int8_t>(takeByte());
  if (type < kByte || type > kI64)
    fail();
  return fromZigzag(takeVarint());
}

bool ThriftReader::readBool() {
  if (type != kTrue && type != kFalse)
    fail();
  return type == kTrue;
}

std::string_view ThriftReader::readBytes() {
  if (type != kBinary)
    fail();
  uint64_t size = checkCount(takeVarint());
  std::string_view value = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return value;
}

bool ThriftReader::enterField(int16_t &number) {
  uint8_t head = takeByte();
  if (head == 0)
    return false;
  type = head & 15;
  if (head >> 4)
    number = static_cast<int16_t>(number + (head >> 4));
  else
    number = static_cast<int16_t>(fromZigzag(takeVarint()));
  return true;
}

uint64_t ThriftReader::enterList(uint8_t &elements) {
  if (type != kList && type != kSet)
    fail();
  uint8_t head = takeByte();
  elements = head & 15;
  constexpr uint64_t follows = 15;
  uint64_t count = head >> 4;
  return checkCount(count == follows ? takeVarint() : count);
}

uint64_t ThriftReader::checkCount(uint64_t count) const {
  if (count > bytes.size())
    fail();
  return count;
}

void ThriftReader::skip(uint8_t skipped) {
  std::vector<Level> open;
  skipValue(skipped, /*isElement=*/false, open);
  while (!open.empty()) {
    Level &level = open.back();
    int16_t number = 0;
    if (level.isStruct ? !enterField(number) : level.left == 0) {
      open.pop_back();
      continue;
    }
    uint8_t next = type;
    if (!level.isStruct)
      next = level.left-- % 2 ? level.second : level.first;
    skipValue(next, /*isElement=*/!level.isStruct, open);
  }
}

void ThriftReader::skipValue(uint8_t skipped, bool isElement,
                             std::vector<Level> &open) {
  if (open.size() > kMostDepth)
    fail();
  type = skipped;
  switch (skipped) {
  case kTrue:
  case kFalse:
    // The type of a field is its value.
    if (isElement)
      takeByte();
    return;
  case kDouble:
    bytes.remove_prefix(checkCount(sizeof(double)));
    return;
  case kBinary:
    readBytes();
    return;
  case kList:
  case kSet: {
    uint8_t elements = 0;
    uint64_t count = enterList(elements);
    open.push_back({false, count, elements, elements});
    return;
  }
  case kMap: {
    uint64_t count = checkCount(takeVarint());
    uint8_t types = count == 0 ? 0 : takeByte();
    open.push_back({false, 2 * count, static_cast<uint8_t>(types >> 4),
                    static_cast<uint8_t>(types & 15)});
    return;
  }
  case kStruct:
    open.push_back({true, 0, 0, 0});
    return;
  default:
    readInteger();
  }
}
