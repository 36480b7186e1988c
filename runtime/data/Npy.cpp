// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// NumPy's .npy and .npz files. Format: numpy/lib/format.py, versions 1 to 3.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Npy.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <cstring>
#include <optional>

using namespace ingot::runtime;

static constexpr std::string_view kMagic = "\x93NUMPY";
static constexpr int64_t kMaxBytes = int64_t(1) << 50;

static Error malformed(const std::string &where, const std::string &what) {
  return badInput(where, what, "write the array again, with numpy.save");
}

int64_t Array::getElements() const {
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  return elements;
}

namespace {

/// The dictionary in the header: a fixed subset of Python's literals.
struct Header {
  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

class HeaderParser {
public:
  HeaderParser(std::string_view text, const std::string &where)
      : text(text), where(where) {}

  Header parse() {
    Header header;
    bool hasDescr = false, hasOrder = false, hasShape = false;
    expect('{');
    while (!accept('}')) {
      std::string key = parseString();
      expect(':');
      if (key == "descr") {
        header.descr = parseString();
        hasDescr = true;
      } else if (key == "fortran_order") {
        header.fortranOrder = parseBool();
        hasOrder = true;
      } else if (key == "shape") {
        header.shape = parseTuple();
        hasShape = true;
      } else {
        throw makeError();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!hasDescr || !hasOrder || !hasShape)
      throw makeError();
    return header;
  }

private:
  Error makeError() const {
    return malformed(where, "the array's header is damaged");
  }

  void skipSpace() {
    while (!text.empty() && (text[0] == ' ' || text[0] == '\n'))
      text.remove_prefix(1);
  }

  bool accept(char c) {
    skipSpace();
    if (text.empty() || text[0] != c)
      return false;
    text.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!accept(c))
      throw makeError();
  }

  std::string parseString() {
    char quote = accept('\'') ? '\'' : '"';
    if (quote == '"') {
      // A list of fields is a structured type.
      skipSpace();
      if (text.starts_with("["))
        throw badInput(where, "structured arrays are not supported",
                       "save each field as an array of its own");
      expect('"');
    }
    size_t end = text.find(quote);
    if (end == std::string_view::npos)
      throw makeError();
    std::string value(text.substr(0, end));
    text.remove_prefix(end + 1);
    return value;
  }

  bool parseBool() {
    skipSpace();
    for (auto [word, value] :
         {std::pair<std::string_view, bool>{"True", true}, {"False", false}})
      if (text.starts_with(word)) {
        text.remove_prefix(word.size());
        return value;
      }
    throw makeError();
  }

  std::vector<int64_t> parseTuple() {
    std::vector<int64_t> values;
    expect('(');
    while (!accept(')')) {
      skipSpace();
      int64_t value = 0;
      size_t digits = 0;
      while (digits < text.size() && text[digits] >= '0' &&
             text[digits] <= '9') {
        if (value > kMaxBytes)
          throw makeError();
        value = value * 10 + (text[digits++] - '0');
      }
      if (digits == 0)
        throw makeError();
      text.remove_prefix(digits);
      values.push_back(value);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }

  std::string_view text;
  const std::string &where;
};

} // namespace

static DType parseDescr(std::string_view descr, const std::string &where) {
  static constexpr std::pair<std::string_view, DType> types[] = {
      {"f8", DType::F64}, {"f4", DType::F32}, {"f2", DType::F16},
      {"i8", DType::I64}, {"i4", DType::I32}, {"i2", DType::I16},
      {"i1", DType::I8},  {"u8", DType::U64}, {"u4", DType::U32},
      {"u2", DType::U16}, {"u1", DType::U8},  {"b1", DType::Bool},
  };
  if (descr.size() == 3 && std::strchr("<>|=", descr[0]))
    for (auto [name, type] : types)
      if (descr.substr(1) == name)
        return type;
  throw badInput(where,
                 "element type '" + std::string(descr) + "' is not supported",
                 "convert the array to numbers, for example with "
                 "astype('float32')");
}

static void swapBytes(char *data, int64_t count, int64_t size) {
  for (int64_t i = 0; i < count; ++i)
    std::reverse(data + i * size, data + (i + 1) * size);
}

/// Copies a column-major array into row-major order.
static void transpose(const char *from, char *to, const Array &array) {
  int64_t size = getSize(array.dtype);
  size_t rank = array.shape.size();
  std::vector<int64_t> strides(rank), index(rank);
  int64_t stride = 1;
  for (size_t i = 0; i < rank; ++i) {
    strides[i] = stride;
    stride *= array.shape[i];
  }
  int64_t elements = array.getElements(), position = 0;
  for (int64_t i = 0; i < elements; ++i) {
    std::memcpy(to + i * size, from + position * size, size);
    for (size_t d = rank; d-- > 0;) {
      position += strides[d];
      if (++index[d] < array.shape[d])
        break;
      position -= strides[d] * array.shape[d];
      index[d] = 0;
    }
  }
}

bool ingot::runtime::isNpy(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

Array ingot::runtime::readNpy(std::string_view bytes,
                              const std::string &where) {
  if (!isNpy(bytes))
    throw malformed(where, "not an .npy array");
  bytes.remove_prefix(kMagic.size());
  auto byteAt = [&](size_t i) {
    return static_cast<size_t>(static_cast<uint8_t>(bytes[i]));
  };
  if (bytes.size() < 6)
    throw malformed(where, "the array is truncated");
  size_t major = byteAt(0), headerSize = byteAt(2) | byteAt(3) << 8, prefix = 4;
  if (major == 2 || major == 3) {
    headerSize |= byteAt(4) << 16 | byteAt(5) << 24;
    prefix = 6;
  } else if (major != 1) {
    throw malformed(where, "unknown .npy version " + std::to_string(major));
  }
  bytes.remove_prefix(prefix);
  if (headerSize > bytes.size())
    throw malformed(where, "the array is truncated");
  Header header = HeaderParser(bytes.substr(0, headerSize), where).parse();
  bytes.remove_prefix(headerSize);

  Array array;
  array.dtype = parseDescr(header.descr, where);
  array.shape = header.shape;
  int64_t size = getSize(array.dtype), total = size;
  for (int64_t extent : array.shape) {
    if (extent != 0 && total > kMaxBytes / extent)
      throw malformed(where, "the array's shape overflows");
    total *= extent;
  }
  if (static_cast<uint64_t>(total) > bytes.size())
    throw malformed(where, "the array is truncated");
  array.data = bytes.data();
  bool isBigEndian = header.descr[0] == '>' && size > 1;
  bool isFortran = header.fortranOrder && array.shape.size() > 1;
  if (isBigEndian || isFortran) {
    array.storage = std::make_shared<Block>(total, where);
    char *copy = array.storage->getData();
    if (isFortran)
      transpose(array.data, copy, array);
    else
      std::memcpy(copy, array.data, total);
    if (isBigEndian)
      swapBytes(copy, array.getElements(), size);
    array.data = copy;
  }
  return array;
}

std::string ingot::runtime::makeNpyHeader(DType dtype,
                                          const std::vector<int64_t> &shape) {
  // NumPy has no bf16: raw 16-bit values are what ml_dtypes users view.
  std::string descr;
  switch (dtype) {
  case DType::Bool:
    descr = "|b1";
    break;
  case DType::I8:
    descr = "|i1";
    break;
  case DType::U8:
    descr = "|u1";
    break;
  case DType::BF16:
    descr = "<u2";
    break;
  default:
    descr = isFloat(dtype)                       ? "<f"
            : getName(dtype).substr(0, 1) == "u" ? "<u"
                                                 : "<i";
    descr += std::to_string(getSize(dtype));
  }
  std::string text =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : shape)
    text += std::to_string(extent) + ", ";
  if (shape.size() > 1)
    text.resize(text.size() - 2);
  else if (shape.size() == 1)
    text.resize(text.size() - 1);
  text += "), }";
  constexpr size_t alignment = 64, prefix = 10;
  text.append(alignment - (prefix + text.size() + 1) % alignment, ' ');
  text += '\n';
  std::string header(kMagic);
  header += '\x01';
  header += '\x00';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

ArrayFile::ArrayFile(MappedFile mapped) : file(std::move(mapped)) {
  const std::string &path = getPath();
  if (isNpy(file.getBytes())) {
    names.emplace_back();
    return;
  }
  if (!isZip(file.getBytes()))
    throw badInput(path, "neither an .npz nor an .npy file",
                   "write it with numpy.savez; arrays are named after the "
                   "model's inputs");
  for (ZipEntry &entry : readZipDirectory(file.getBytes(), path)) {
    if (!entry.name.ends_with(".npy"))
      continue;
    names.push_back(entry.name.substr(0, entry.name.size() - 4));
    entries.push_back(std::move(entry));
  }
  for (size_t i = 0; i < names.size(); ++i)
    if (!places.try_emplace(names[i], i).second)
      throw badInput(path + ": " + names[i],
                     "the archive has two arrays of this name",
                     "write the file again, with numpy.savez");
  if (entries.empty())
    throw badInput(path, "the archive holds no array",
                   "write it with numpy.savez; arrays are named after the "
                   "model's inputs");
}

bool ArrayFile::has(std::string_view name) const {
  return isSingle() ? name.empty() : places.count(name) != 0;
}

Array ArrayFile::read(std::string_view name) const {
  if (isSingle())
    return readNpy(file.getBytes(), getPath());
  auto found = places.find(name);
  std::string where = getPath() + ": " + std::string(name);
  if (found == places.end())
    throw badInput(where, "no such array", "check the names in the file");
  auto inflated = std::make_shared<Block>();
  Array array = readNpy(readZipEntry(file.getBytes(), entries[found->second],
                                     getPath(), *inflated),
                        where);
  if (!array.storage)
    array.storage = inflated;
  return array;
}
