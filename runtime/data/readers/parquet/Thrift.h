// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Structs in Thrift's compact protocol, in which Parquet's metadata are
// written. What is read calls for its fields; all others are skipped without
// recursion.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_READERS_PARQUET_THRIFT_H
#define INGOT_RUNTIME_DATA_READERS_PARQUET_THRIFT_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime::parquet {

class ThriftReader {
public:
  ThriftReader(std::string_view bytes, const std::string &where)
      : bytes(bytes), where(where) {}

  /// The bytes that have not been read.
  std::string_view getRest() const { return bytes; }

  /// Reads a struct: calls `take` with the number of each field, which reads
  /// the field with one of the functions below, or returns false. Throws
  /// badInput.
  template <typename F> void readStruct(F take) {
    int16_t number = 0;
    if (type != kStruct)
      fail();
    while (enterField(number)) {
      if (!take(number))
        skip(type);
      type = kStruct;
    }
  }

  /// Reads a list: calls `take` for each element, which has to read it.
  template <typename F> void readList(F take) {
    uint8_t elements = 0;
    uint64_t count = enterList(elements);
    for (uint64_t i = 0; i < count; ++i) {
      type = elements;
      take();
    }
  }

  /// Returns an integer of any width.
  int64_t readInteger();
  bool readBool();
  std::string_view readBytes();

private:
  static constexpr uint8_t kTrue = 1, kFalse = 2, kByte = 3, kI64 = 6,
                           kDouble = 7, kBinary = 8, kList = 9, kSet = 10,
                           kMap = 11, kStruct = 12;

  /// A level of what is skipped: a struct, or elements that are left. Those of
  /// maps are keys and values in turns.
  struct Level {
    bool isStruct;
    uint64_t left;
    uint8_t first, second;
  };

  [[noreturn]] void fail() const;
  uint8_t takeByte();
  uint64_t takeVarint();
  /// Reads the head of the next field, and its type; false at the end.
  bool enterField(int16_t &number);
  uint64_t enterList(uint8_t &elements);
  /// Reads how many elements there are, each of which has a byte at least.
  uint64_t checkCount(uint64_t count) const;
  void skip(uint8_t skipped);
  /// Skips a value, or adds what it consists of to `open`.
  void skipValue(uint8_t skipped, bool isElement, std::vector<Level> &open);

  std::string_view bytes;
  const std::string &where;
  /// The type of the value that comes next.
  uint8_t type = kStruct;
};

} // namespace ingot::runtime::parquet

#endif // INGOT_RUNTIME_DATA_READERS_PARQUET_THRIFT_H
