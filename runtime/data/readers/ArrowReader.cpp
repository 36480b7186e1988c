// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Record batches of Apache Arrow: the stream, which Hugging Face's `datasets`
// writes, and the file, which is a stream between marks.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/readers/Readers.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_set>

#include "runtime/data/readers/Arrow_generated.h"

using namespace ingot::runtime;
namespace arrow = ingot::arrow;

static constexpr std::string_view kFileMark("ARROW1\0\0", 8);
static constexpr uint32_t kContinuation = 0xffffffff;
/// Deeper columns are somebody's joke.
static constexpr int kMostDepth = 16;

static Error damaged(const std::string &where, const std::string &what) {
  return badInput(where, what,
                  "write the file again, as Dataset.save_to_disk of Hugging "
                  "Face does");
}

bool ingot::runtime::isArrow(std::string_view bytes) {
  if (bytes.starts_with(kFileMark))
    return true;
  // A stream begins with the length of its schema.
  constexpr size_t prefix = 8;
  if (bytes.size() < prefix || !bytes.starts_with("\xff\xff\xff\xff"))
    return false;
  int32_t size;
  std::memcpy(&size, bytes.data() + 4, sizeof(size));
  return size > 0 && static_cast<size_t>(size) <= bytes.size() - prefix;
}

namespace {

/// A type of columns.
struct Type {
  enum class Kind {
    Fixed,
    Bool,
    Bytes,
    LargeBytes,
    List,
    LargeList,
    FixedList,
    Struct,
    Other
  };
  Kind kind = Kind::Other;
  DType dtype = DType::U8;
  int64_t listSize = 0;
  /// The buffers of a column, without those of its children.
  int buffers = 0;
  std::string name;
  std::vector<Type> children;
};

/// A column of one batch.
struct Column {
  int64_t length = 0, nulls = 0;
  std::string_view buffers[3];
  std::vector<Column> children;
};

struct Batch {
  int64_t first = 0;
  std::vector<Column> columns;
};

/// Takes nodes and buffers of a batch, in the order of the columns.
class BatchParser {
public:
  BatchParser(const arrow::RecordBatch &batch, std::string_view body,
              const std::string &where)
      : batch(batch), body(body), where(where) {}

  Column parse(const Type &type) {
    Column column;
    if (!batch.nodes() || node >= batch.nodes()->size())
      throw damaged(where, "a record batch lacks columns");
    const arrow::FieldNode *own = batch.nodes()->Get(node++);
    column.length = own->length();
    column.nulls = own->null_count();
    if (column.length < 0 || column.nulls < 0)
      throw damaged(where, "a column has a negative length");
    for (int i = 0; i < type.buffers; ++i)
      column.buffers[i] = take();
    for (const Type &child : type.children)
      column.children.push_back(parse(child));
    return column;
  }

private:
  std::string_view take() {
    if (!batch.buffers() || buffer >= batch.buffers()->size())
      throw damaged(where, "a record batch lacks buffers");
    const arrow::Buffer *place = batch.buffers()->Get(buffer++);
    if (place->offset() < 0 || place->length() < 0 ||
        static_cast<uint64_t>(place->offset()) > body.size() ||
        static_cast<uint64_t>(place->length()) >
            body.size() - static_cast<uint64_t>(place->offset()))
      throw damaged(where, "a buffer lies outside of its record batch");
    return body.substr(static_cast<size_t>(place->offset()),
                       static_cast<size_t>(place->length()));
  }

  const arrow::RecordBatch &batch;
  std::string_view body;
  const std::string &where;
  flatbuffers::uoffset_t node = 0, buffer = 0;
};

class ArrowReader : public Reader {
public:
  explicit ArrowReader(MappedFile given)
      : Reader(given.getPath()), file(std::move(given)) {
    std::string_view bytes = file.getBytes();
    if (bytes.starts_with(kFileMark))
      bytes.remove_prefix(kFileMark.size());
    while (parseMessage(bytes))
      ;
    if (types.empty())
      throw damaged(path, "the file has no schema");
    std::unordered_set<std::string_view> known;
    for (const Type &type : types) {
      names.push_back(type.name);
      if (!known.insert(type.name).second)
        throw damaged(path + ": " + type.name, "two columns have this name");
    }
    if (samples == 0)
      throw damaged(path, "the file has no rows");
  }

  std::string_view getKind() const override { return "arrow"; }
  int64_t getSamples() const override { return samples; }

  Value read(size_t field, int64_t sample,
             std::string &storage) const override {
    auto after = std::upper_bound(
        batches.begin(), batches.end(), sample,
        [](int64_t s, const Batch &batch) { return s < batch.first; });
    const Batch &batch = *std::prev(after);
    Value value;
    Run run{sample - batch.first, 1};
    gather(types[field], batch.columns[field], run, value, storage,
           describe(field, sample));
    return value;
  }

private:
  /// Rows of a column.
  struct Run {
    int64_t first, count;
  };

  /// Reads the next message. Returns whether there was one.
  bool parseMessage(std::string_view &bytes) {
    auto readU32 = [&](size_t at) {
      uint32_t value;
      std::memcpy(&value, bytes.data() + at, sizeof(value));
      return value;
    };
    // Streams may just end.
    if (bytes.empty())
      return false;
    if (bytes.size() < 4)
      throw damaged(path, "the file is truncated");
    // Old writers have no mark before the length.
    size_t prefix = readU32(0) == kContinuation ? 8 : 4;
    if (bytes.size() < prefix)
      throw damaged(path, "the file is truncated");
    uint32_t size = readU32(prefix - 4);
    bytes.remove_prefix(prefix);
    if (size == 0)
      return false;
    if (size > bytes.size())
      throw damaged(path, "the file is truncated");
    // A copy, because the verifier asks for alignment.
    std::vector<uint64_t> aligned((size + 7) / 8);
    std::memcpy(aligned.data(), bytes.data(), size);
    bytes.remove_prefix(size);
    auto *metadata = reinterpret_cast<const uint8_t *>(aligned.data());
    flatbuffers::Verifier verifier(metadata, size, /*_max_depth=*/64,
                                   /*_max_tables=*/100000);
    if (!arrow::VerifyMessageBuffer(verifier))
      throw damaged(path, "the metadata of a message is damaged");
    const arrow::Message *message = arrow::GetMessage(metadata);
    int64_t length = message->body_length();
    if (length < 0 || static_cast<uint64_t>(length) > bytes.size())
      throw damaged(path, "the file is truncated");
    std::string_view body = bytes.substr(0, static_cast<size_t>(length));
    bytes.remove_prefix(static_cast<size_t>(length));
    if (auto *schema = message->header_as_Schema())
      parseSchema(*schema);
    else if (auto *batch = message->header_as_RecordBatch())
      parseBatch(*batch, body);
    return true;
  }

  void parseSchema(const arrow::Schema &schema) {
    if (!types.empty())
      throw damaged(path, "the file has several schemas");
    if (schema.endianness() != arrow::Endianness_Little)
      throw damaged(path, "the numbers are big-endian");
    if (!schema.fields())
      throw damaged(path, "the schema has no fields");
    for (const arrow::Field *field : *schema.fields())
      types.push_back(parseType(*field, 0));
  }

  Type parseType(const arrow::Field &field, int depth) const {
    Type type;
    type.name = field.name() ? field.name()->str() : "";
    type.buffers = 2;
    if (depth > kMostDepth)
      throw damaged(path, "column '" + type.name + "' is nested too deeply");
    if (!field.type())
      throw damaged(path, "column '" + type.name + "' has no type");
    // Dictionaries hold the children of what they encode.
    if (field.dictionary())
      return type;
    switch (field.type_type()) {
    case arrow::Type_Null:
      type.buffers = 0;
      break;
    case arrow::Type_Int:
      setInteger(*field.type_as_Int(), type);
      break;
    case arrow::Type_FloatingPoint:
      type.kind = Type::Kind::Fixed;
      type.dtype =
          field.type_as_FloatingPoint()->precision() == arrow::Precision_Half
              ? DType::F16
          : field.type_as_FloatingPoint()->precision() ==
                  arrow::Precision_Single
              ? DType::F32
              : DType::F64;
      break;
    case arrow::Type_Bool:
      type.kind = Type::Kind::Bool;
      break;
    case arrow::Type_Binary:
    case arrow::Type_Utf8:
      type.kind = Type::Kind::Bytes;
      type.buffers = 3;
      break;
    case arrow::Type_LargeBinary:
    case arrow::Type_LargeUtf8:
      type.kind = Type::Kind::LargeBytes;
      type.buffers = 3;
      break;
    case arrow::Type_List:
      type.kind = Type::Kind::List;
      break;
    case arrow::Type_LargeList:
      type.kind = Type::Kind::LargeList;
      break;
    case arrow::Type_FixedSizeList:
      type.kind = Type::Kind::FixedList;
      type.listSize = field.type_as_FixedSizeList()->list_size();
      type.buffers = 1;
      break;
    case arrow::Type_Struct_:
      type.kind = Type::Kind::Struct;
      type.buffers = 1;
      break;
    case arrow::Type_Decimal:
    case arrow::Type_Date:
    case arrow::Type_Time:
    case arrow::Type_Timestamp:
    case arrow::Type_Interval:
    case arrow::Type_Duration:
    case arrow::Type_FixedSizeBinary:
    case arrow::Type_Map:
      break;
    default:
      throw damaged(path, "column '" + type.name + "' has the type " +
                              arrow::EnumNameType(field.type_type()) +
                              ", which is not supported");
    }
    if (field.children())
      for (const arrow::Field *child : *field.children())
        type.children.push_back(parseType(*child, depth + 1));
    bool isList = type.kind == Type::Kind::List ||
                  type.kind == Type::Kind::LargeList ||
                  type.kind == Type::Kind::FixedList;
    if ((isList && type.children.size() != 1) || type.listSize < 0)
      throw damaged(path, "column '" + type.name + "' is damaged");
    return type;
  }

  static void setInteger(const arrow::Int &integer, Type &type) {
    type.kind = Type::Kind::Fixed;
    bool isSigned = integer.is_signed();
    switch (integer.bit_width()) {
    case 8:
      type.dtype = isSigned ? DType::I8 : DType::U8;
      break;
    case 16:
      type.dtype = isSigned ? DType::I16 : DType::U16;
      break;
    case 32:
      type.dtype = isSigned ? DType::I32 : DType::U32;
      break;
    case 64:
      type.dtype = isSigned ? DType::I64 : DType::U64;
      break;
    default:
      type.kind = Type::Kind::Other;
    }
  }

  void parseBatch(const arrow::RecordBatch &batch, std::string_view body) {
    if (types.empty())
      throw damaged(path, "a record batch comes before the schema");
    if (batch.compression())
      throw badInput(path, "the buffers of the record batches are compressed",
                     "write the file without compression; the whole file may "
                     "be compressed with zstd");
    BatchParser parser(batch, body, path);
    Batch &added = batches.emplace_back();
    added.first = samples;
    for (const Type &type : types) {
      added.columns.push_back(parser.parse(type));
      if (added.columns.back().length != batch.length())
        throw damaged(path, "column '" + type.name +
                                "' has another length than its batch");
    }
    if (batch.length() < 0 || batch.length() > (int64_t(1) << 48))
      throw damaged(path, "a record batch has an impossible length");
    if (batch.length() == 0)
      batches.pop_back();
    else
      samples += batch.length();
  }

  /// Adds the rows of a column to a value: a row of each level of lists is one
  /// run of the next level.
  void gather(const Type &type, const Column &column, Run run, Value &value,
              std::string &storage, const std::string &where) const {
    if (run.first < 0 || run.count < 0 || run.first > column.length ||
        run.count > column.length - run.first)
      throw damaged(where, "a list points outside of its items");
    checkValid(column, run, where);
    switch (type.kind) {
    case Type::Kind::Fixed:
      value.dtype = type.dtype;
      value.bytes = slice(column.buffers[1], run.first * getSize(type.dtype),
                          run.count * getSize(type.dtype), where);
      return;
    case Type::Kind::Bool:
      value.dtype = DType::Bool;
      unpackBits(column.buffers[1], run, storage, where);
      value.bytes = storage;
      return;
    case Type::Kind::Bytes:
      return setBytes<int32_t>(column, run, value, where);
    case Type::Kind::LargeBytes:
      return setBytes<int64_t>(column, run, value, where);
    case Type::Kind::List:
      run = enterLists<int32_t>(column, run, value, where);
      break;
    case Type::Kind::LargeList:
      run = enterLists<int64_t>(column, run, value, where);
      break;
    case Type::Kind::FixedList:
      addExtent(value, type.listSize, run, where);
      if (run.first > INT64_MAX / std::max<int64_t>(type.listSize, 1) ||
          run.count > INT64_MAX / std::max<int64_t>(type.listSize, 1))
        throw damaged(where, "a list points outside of its items");
      run = {run.first * type.listSize, run.count * type.listSize};
      break;
    case Type::Kind::Struct:
      // What `datasets` makes of pictures: {bytes, path}.
      for (size_t i = 0; i < type.children.size(); ++i)
        if (type.children[i].name == "bytes")
          return gather(type.children[i], column.children[i], run, value,
                        storage, where);
      [[fallthrough]];
    default:
      throw badInput(where, "columns of this type are not supported",
                     "keep numbers, lists of numbers, text, or pictures as "
                     "bytes");
    }
    gather(type.children[0], column.children[0], run, value, storage, where);
  }

  static std::string_view slice(std::string_view buffer, int64_t at,
                                int64_t size, const std::string &where) {
    if (at < 0 || size < 0 || static_cast<uint64_t>(at) > buffer.size() ||
        static_cast<uint64_t>(size) > buffer.size() - static_cast<size_t>(at))
      throw damaged(where, "a column is truncated");
    return buffer.substr(static_cast<size_t>(at), static_cast<size_t>(size));
  }

  static bool getBit(std::string_view bits, int64_t at,
                     const std::string &where) {
    uint8_t byte = static_cast<uint8_t>(slice(bits, at / 8, 1, where)[0]);
    return byte >> (at % 8) & 1;
  }

  static void checkValid(const Column &column, Run run,
                         const std::string &where) {
    if (column.nulls == 0 || column.buffers[0].empty())
      return;
    for (int64_t i = run.first; i < run.first + run.count; ++i)
      if (!getBit(column.buffers[0], i, where))
        throw badInput(where, "the value is null", "leave such rows out");
  }

  static void unpackBits(std::string_view bits, Run run, std::string &storage,
                         const std::string &where) {
    slice(bits, run.first / 8, (run.first + run.count + 7) / 8 - run.first / 8,
          where);
    storage.clear();
    for (int64_t i = run.first; i < run.first + run.count; ++i)
      storage += static_cast<char>(getBit(bits, i, where));
  }

  template <typename Offset>
  static Offset getOffset(const Column &column, int64_t row,
                          const std::string &where) {
    Offset offset;
    std::memcpy(&offset,
                slice(column.buffers[1],
                      row * static_cast<int64_t>(sizeof(Offset)),
                      sizeof(Offset), where)
                    .data(),
                sizeof(Offset));
    return offset;
  }

  template <typename Offset>
  static void setBytes(const Column &column, Run run, Value &value,
                       const std::string &where) {
    if (!value.shape.empty() || run.count != 1)
      throw badInput(where, "lists of text are not supported",
                     "keep one text in each row");
    int64_t begin = getOffset<Offset>(column, run.first, where);
    int64_t end = getOffset<Offset>(column, run.first + 1, where);
    value.kind = Value::Kind::Bytes;
    value.bytes = slice(column.buffers[2], begin, end - begin, where);
  }

  static void addExtent(Value &value, int64_t extent, Run run,
                        const std::string &where) {
    value.shape.push_back(extent);
    if (value.shape.size() > static_cast<size_t>(kMostDepth))
      throw damaged(where, "lists are nested too deeply");
  }

  template <typename Offset>
  static Run enterLists(const Column &column, Run run, Value &value,
                        const std::string &where) {
    int64_t begin = getOffset<Offset>(column, run.first, where), at = begin;
    int64_t extent = 0;
    for (int64_t i = 0; i < run.count; ++i) {
      int64_t end = getOffset<Offset>(column, run.first + i + 1, where);
      if (end < at || (i != 0 && end - at != extent))
        throw badInput(where, "the lists have several lengths",
                       "pad or cut them to one length");
      extent = end - at;
      at = end;
    }
    addExtent(value, extent, run, where);
    return {begin, at - begin};
  }

  MappedFile file;
  std::vector<Type> types;
  std::vector<Batch> batches;
  int64_t samples = 0;
};

} // namespace

std::unique_ptr<Reader> ingot::runtime::openArrow(MappedFile file) {
  return std::make_unique<ArrowReader>(std::move(file));
}
