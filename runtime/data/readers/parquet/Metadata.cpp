// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/readers/parquet/Metadata.h"

#include "runtime/core/Text.h"
#include "runtime/data/readers/parquet/Thrift.h"

#include <cstring>
#include <unordered_set>

using namespace ingot::runtime;
using namespace ingot::runtime::parquet;

/// More rows are somebody's joke.
static constexpr int64_t kMostRows = int64_t(1) << 48;
static constexpr size_t kMostElements = 100000, kMostDepth = 64, kMostLists = 8;

namespace {

/// A node of the schema, which is a list of nodes and how many children each
/// has.
struct Element {
  std::optional<int64_t> type;
  int64_t width = 0, repetition = 0, children = 0;
  std::string name;
  /// Annotations, older and newer; -1 for none.
  int64_t converted = -1;
  int logical = -1;
  /// The bits and the sign of integers.
  int64_t bits = 0;
  bool isSigned = true;
};

/// The numbers of annotations, older and newer.
enum Converted {
  kConvertedList = 3,
  kConvertedUInt8 = 11,
  kConvertedInt64 = 18
};
enum Logical {
  kLogicalString = 1,
  kLogicalList = 3,
  kLogicalEnum = 4,
  kLogicalInteger = 10,
  kLogicalJson = 12,
  kLogicalBson = 13,
  kLogicalFloat16 = 15
};
enum Repetition { kRequired, kOptional, kRepeated };

class MetadataReader {
public:
  MetadataReader(std::string_view bytes, const std::string &path)
      : path(path), reader(bytes, path) {}

  Metadata read(uint64_t fileSize) {
    bool hasRows = false;
    reader.readStruct([&](int16_t field) {
      switch (field) {
      case 2:
        reader.readList([&] { readElement(); });
        addLeaves();
        return true;
      case 3:
        result.rows = reader.readInteger();
        hasRows = true;
        return true;
      case 4:
        if (result.leaves.empty())
          throw damaged(path, "the file has no schema");
        reader.readList([&] { readGroup(fileSize); });
        return true;
      case 8:
        throw unsupported(path, "the file is encrypted");
      default:
        return false;
      }
    });
    if (!hasRows || result.leaves.empty())
      throw damaged(path, "the metadata are damaged");
    if (rows != result.rows)
      throw damaged(path, "the row groups have other rows than the file");
    return std::move(result);
  }

private:
  void readElement() {
    if (elements.size() == kMostElements)
      throw damaged(path, "the schema has too many columns");
    Element &element = elements.emplace_back();
    reader.readStruct([&](int16_t field) {
      switch (field) {
      case 1:
        element.type = reader.readInteger();
        return true;
      case 2:
        element.width = reader.readInteger();
        return true;
      case 3:
        element.repetition = reader.readInteger();
        return true;
      case 4:
        element.name = reader.readBytes();
        return true;
      case 5:
        element.children = reader.readInteger();
        return true;
      case 6:
        element.converted = reader.readInteger();
        return true;
      case 10:
        readLogicalType(element);
        return true;
      default:
        return false;
      }
    });
  }

  /// Reads a union: a struct with one field.
  void readLogicalType(Element &element) {
    reader.readStruct([&](int16_t kind) {
      element.logical = kind;
      if (kind != kLogicalInteger)
        return false;
      reader.readStruct([&](int16_t field) {
        if (field == 1)
          element.bits = reader.readInteger();
        else if (field == 2)
          element.isSigned = reader.readBool();
        return field == 1 || field == 2;
      });
      return true;
    });
  }

  /// A group that is open while the list of nodes is gone through.
  struct Group {
    int64_t left;
    int definition;
    std::vector<int> lists;
    /// Whether its children are members, of which `bytes` alone counts, and
    /// whether what counts can be in it at all.
    bool isStruct, counts;
    /// Whether it has the annotation of lists.
    bool isList;
  };

  void addLeaves() {
    if (elements.empty() || elements[0].children <= 0 || !result.leaves.empty())
      throw damaged(path, "the schema is damaged");
    std::unordered_set<std::string_view> known;
    std::vector<Group> open{{elements[0].children, 0, {}, false, true, false}};
    for (size_t i = 1; i < elements.size(); ++i) {
      while (!open.empty() && open.back().left == 0)
        open.pop_back();
      if (open.empty() || open.size() > kMostDepth)
        throw damaged(path, "the schema is damaged");
      const Element &element = elements[i];
      Group &parent = open.back();
      --parent.left;
      if (open.size() == 1) {
        result.fields.push_back({element.name, std::nullopt});
        if (!known.insert(element.name).second)
          throw damaged(path + ": " + describeName(element.name),
                        "two columns have this name");
      }
      Group own{element.children,
                parent.definition,
                parent.lists,
                false,
                parent.counts && (!parent.isStruct || element.name == "bytes"),
                false};
      if (element.repetition == kRepeated) {
        own.lists.push_back(own.definition + 1);
        own.counts &= own.lists.size() <= kMostLists;
      }
      own.definition += element.repetition != kRequired;
      bool isInList = parent.isList && element.repetition == kRepeated;
      own.isList = element.logical == kLogicalList ||
                   element.converted == kConvertedList;
      own.isStruct = !own.isList && !(isInList && element.children == 1);
      if (element.children < 0 || element.repetition > kRepeated ||
          element.repetition < kRequired)
        throw damaged(path, "the schema is damaged");
      if (element.children != 0) {
        open.push_back(std::move(own));
        continue;
      }
      if (own.counts && !result.fields.back().leaf)
        result.fields.back().leaf = result.leaves.size();
      result.leaves.push_back(makeLeaf(element, own));
    }
    while (!open.empty() && open.back().left == 0)
      open.pop_back();
    if (!open.empty() || result.leaves.empty())
      throw damaged(path, "the schema is damaged");
  }

  Leaf makeLeaf(const Element &element, const Group &group) const {
    Leaf leaf;
    leaf.definition = group.definition;
    leaf.lists = group.lists;
    constexpr int64_t mostWidth = 1 << 20;
    if (!element.type || *element.type < 0 ||
        *element.type > static_cast<int64_t>(Physical::FixedByteArray) ||
        (*element.type == static_cast<int64_t>(Physical::FixedByteArray) &&
         (element.width <= 0 || element.width > mostWidth)))
      throw damaged(path, "the type of column '" + describeName(element.name) +
                              "' is damaged");
    leaf.type = static_cast<Physical>(*element.type);
    bool isAnnotated = element.logical >= 0 || element.converted >= 0;
    bool isInteger = element.logical == kLogicalInteger ||
                     (element.converted >= kConvertedUInt8 &&
                      element.converted <= kConvertedInt64);
    switch (leaf.type) {
    case Physical::Boolean:
      leaf.width = 1;
      leaf.dtype = DType::Bool;
      break;
    case Physical::Int32:
    case Physical::Int64:
      leaf.width = leaf.type == Physical::Int32 ? 4 : 8;
      leaf.isOther = isAnnotated && !isInteger;
      leaf.dtype = getIntegerType(element, leaf.width);
      break;
    case Physical::Int96:
      leaf.width = 12;
      leaf.isOther = true;
      break;
    case Physical::Float:
      leaf.width = 4;
      leaf.dtype = DType::F32;
      break;
    case Physical::Double:
      leaf.width = 8;
      leaf.dtype = DType::F64;
      break;
    case Physical::ByteArray:
      leaf.isBytes = true;
      leaf.isOther = isAnnotated && !isText(element);
      break;
    case Physical::FixedByteArray:
      leaf.width = element.width;
      if (element.logical == kLogicalFloat16 && leaf.width == 2) {
        leaf.dtype = DType::F16;
        break;
      }
      leaf.isBytes = true;
      leaf.isOther = isAnnotated;
    }
    return leaf;
  }

  static bool isText(const Element &element) {
    // UTF8, ENUM, JSON and BSON.
    return element.logical == kLogicalString ||
           element.logical == kLogicalEnum || element.logical == kLogicalJson ||
           element.logical == kLogicalBson ||
           (element.logical < 0 &&
            (element.converted == 0 || element.converted == 4 ||
             element.converted == 19 || element.converted == 20));
  }

  static DType getIntegerType(const Element &element, int64_t width) {
    int64_t bits = 8 * width;
    bool isSigned = true;
    if (element.logical == kLogicalInteger) {
      bits = element.bits;
      isSigned = element.isSigned;
    } else if (element.converted >= kConvertedUInt8 &&
               element.converted <= kConvertedInt64) {
      // Four unsigned types, then four signed ones.
      int64_t number = element.converted - kConvertedUInt8;
      bits = 8 << number % 4;
      isSigned = number >= 4;
    }
    if (bits == 8)
      return isSigned ? DType::I8 : DType::U8;
    if (bits == 16)
      return isSigned ? DType::I16 : DType::U16;
    if (width == 4)
      return isSigned ? DType::I32 : DType::U32;
    return isSigned ? DType::I64 : DType::U64;
  }

  void readGroup(uint64_t fileSize) {
    RowGroup &group = result.groups.emplace_back();
    group.rows = -1;
    reader.readStruct([&](int16_t field) {
      if (field == 1)
        reader.readList([&] {
          if (group.chunks.size() == result.leaves.size())
            throw damaged(path, "a row group has more columns than the schema");
          readChunk(group.chunks.emplace_back(), fileSize);
        });
      else if (field == 3)
        group.rows = reader.readInteger();
      return field == 1 || field == 3;
    });
    if (group.chunks.size() != result.leaves.size())
      throw damaged(path, "a row group has fewer columns than the schema");
    if (group.rows < 0 || group.rows > kMostRows - rows)
      throw damaged(path, "a row group has an impossible length");
    rows += group.rows;
  }

  void readChunk(Chunk &chunk, uint64_t fileSize) {
    bool hasMetadata = false;
    reader.readStruct([&](int16_t field) {
      switch (field) {
      case 1:
        throw unsupported(path, "columns are in other files");
      case 3:
        readChunkMetadata(chunk, fileSize);
        hasMetadata = true;
        return true;
      case 8:
      case 9:
        throw unsupported(path, "the file is encrypted");
      default:
        return false;
      }
    });
    if (!hasMetadata)
      throw damaged(path, "the metadata are damaged");
  }

  void readChunkMetadata(Chunk &chunk, uint64_t fileSize) {
    int64_t type = -1, codec = -1, size = -1, data = -1, dictionary = 0;
    chunk.values = -1;
    reader.readStruct([&](int16_t field) {
      int64_t *number = field == 1    ? &type
                        : field == 4  ? &codec
                        : field == 5  ? &chunk.values
                        : field == 7  ? &size
                        : field == 9  ? &data
                        : field == 11 ? &dictionary
                                      : nullptr;
      if (number)
        *number = reader.readInteger();
      return number != nullptr;
    });
    const Leaf &leaf = result.leaves[result.groups.back().chunks.size() - 1];
    int64_t first = dictionary > 0 && dictionary < data ? dictionary : data;
    if (type != static_cast<int64_t>(leaf.type) || chunk.values < 0 ||
        size < 0 || first < 0 || codec < 0 ||
        codec > static_cast<int64_t>(Codec::Lz4))
      throw damaged(path, "the metadata of a column are damaged");
    if (static_cast<uint64_t>(first) > fileSize ||
        static_cast<uint64_t>(size) > fileSize - static_cast<uint64_t>(first))
      throw damaged(path, "a column lies outside of the file");
    chunk.codec = static_cast<Codec>(codec);
    chunk.offset = static_cast<uint64_t>(first);
    chunk.size = static_cast<uint64_t>(size);
  }

  const std::string &path;
  ThriftReader reader;
  std::vector<Element> elements;
  Metadata result;
  int64_t rows = 0;
};

} // namespace

Metadata parquet::readMetadata(std::string_view bytes,
                               const std::string &path) {
  // At the end: the metadata, their size, and the mark.
  constexpr size_t mark = 4, tail = 8;
  uint32_t size = 0;
  if (bytes.size() < mark + tail)
    throw damaged(path, "the file is truncated");
  if (bytes.ends_with("PARE"))
    throw unsupported(path, "the file is encrypted");
  if (!bytes.ends_with("PAR1"))
    throw damaged(path, "the file is truncated");
  std::memcpy(&size, bytes.data() + bytes.size() - tail, sizeof(size));
  if (size > bytes.size() - mark - tail)
    throw damaged(path, "the metadata are larger than the file");
  std::string_view metadata = bytes.substr(bytes.size() - tail - size, size);
  return MetadataReader(metadata, path).read(bytes.size());
}
