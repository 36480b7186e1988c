// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The structs and entries of the ABI as data: what a compiler that emits calls
// needs to know, made of the same records as Abi.h.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_ABI_TABLE_H
#define INGOT_RUNTIME_ABI_TABLE_H

#include "runtime/abi/Abi.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace ingot::abi {

struct Case {
  std::string_view name;
  int64_t value;
};

struct Enum {
  std::string_view name;
  std::span<const Case> cases;
};

struct Struct;

/// The encoding of the bytes of a field.
enum class Encoding { Integer, Float, Address, Struct };

/// Who sets a field (Records.td).
enum class Source { Given, Index, Scratch, Reserved };

struct Field {
  std::string_view name;
  Encoding encoding;
  Source source;
  /// The bytes of one element.
  uint32_t bytes;
  uint32_t offset;
  /// The number of elements; 0 if the field is no array.
  uint32_t count;
  /// The enumeration of an integer; null for numbers.
  const Enum *values;
  /// The type of a struct in a struct.
  const Struct *type;
};

struct Struct {
  std::string_view name;
  uint32_t bytes;
  std::span<const Field> fields;

  /// Null if there is none.
  constexpr const Field *find(std::string_view field) const {
    for (const Field &each : fields)
      if (each.name == field)
        return &each;
    return nullptr;
  }
};

/// A field of a descriptor or of a struct in it; `field` may be null.
struct FieldPlace {
  const Field *field;
  /// From the beginning of the descriptor on.
  uint32_t offset;
};

/// A factor of a buffer's number of elements: a field, divided by another.
struct Factor {
  FieldPlace field, divisor;
};

struct Buffer {
  std::string_view name;
  bool isRead, isWritten, isScratch, isOptional;
  /// Only the rank's shard has a meaning after the call.
  bool isShard;
  /// The field with the element type, or the element type itself; neither if
  /// the entry takes any.
  FieldPlace typeField;
  std::string_view type;
  /// The field with the size in bytes, if there is one.
  FieldPlace bytes;
  /// Their product is the number of elements; none if the descriptor does not
  /// say.
  std::span<const Factor> shape;
};

/// A part of an exchange between ranks, or of a region concurrent with other
/// calls.
enum class Phase { None, Start, Wait, Exchange, SideStart, SideEnd, SideWait };
enum class Exchange { None, AllReduce, ReduceScatter, AllGather, AllToAll };

struct Entry {
  std::string_view symbol;
  /// The kind of work, as the manifest has it.
  std::string_view kind;
  const Struct *descriptor;
  std::span<const Buffer> buffers;
  /// Whether it takes more buffers as one array.
  bool hasTable;
  Phase phase;
  Exchange exchange;
};

/// The table's view of a C struct.
template <typename Desc> extern const Struct &structOf;

#include "runtime/abi/AbiTable.inc"

/// Null if there is none.
constexpr const Struct *findStruct(std::string_view name) {
  for (const Struct *each : kStructs)
    if (each->name == name)
      return each;
  return nullptr;
}
constexpr const Entry *findEntry(std::string_view symbol) {
  for (const Entry &each : kEntries)
    if (each.symbol == symbol)
      return &each;
  return nullptr;
}

} // namespace ingot::abi

#endif // INGOT_RUNTIME_ABI_TABLE_H
