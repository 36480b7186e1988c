// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// JSON lines: an object per line.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/readers/Json.h"
#include "runtime/data/readers/Readers.h"

#include "runtime/core/Error.h"
#include "runtime/core/Text.h"
#include "runtime/core/text/BoundedJson.h"
#include "runtime/core/text/ByteOrderMark.h"

#include <algorithm>
#include <cstring>

using namespace ingot::runtime;
using nlohmann::json;

static const char *const kNoObject = "not an object in JSON";
static const char *const kHint =
    "each line is an object such as {\"x\": [1, 2], \"labels\": 0}";

static Error damaged(const std::string &where, const std::string &what) {
  return badInput(where, what, kHint);
}

namespace {

class KeyReader : public JsonReader {
public:
  explicit KeyReader(const std::string &where)
      : JsonReader(where, kNoObject, kHint) {}

  std::vector<std::string> keys;

private:
  void begin(bool isObject) override {
    if (getDepth() == 1 && !isObject)
      fail(kNoObject);
  }
  void addKey(const std::string &key) override {
    if (getDepth() == 1)
      keys.push_back(key);
  }
  void addScalar(json value) override {
    if (getDepth() == 0)
      fail(kNoObject);
  }
};

/// Makes a value of the member of a name: elements of a number or of nested
/// arrays, or bytes of a string.
class FieldReader : public JsonReader {
public:
  FieldReader(const std::string &where, const std::string &key,
              std::string &storage)
      : JsonReader(where, kNoObject, kHint), wanted(key), storage(storage) {
    storage.clear();
  }

  Value get(std::string_view text) {
    read(text);
    if (!isFound)
      fail("the object has no '" + describeName(wanted) + "'");
    if (value.kind == Value::Kind::Elements)
      value.shape.assign(shape.begin(), shape.end());
    value.bytes = storage;
    return value;
  }

private:
  static constexpr size_t kMostRank = 8;

  void begin(bool isObject) override {
    if (getDepth() == 1 && !isObject)
      fail(kNoObject);
    if (getDepth() == 1 || !isWanted)
      return;
    if (isObject)
      fail(getDepth() == 2 ? "'" + describeName(wanted) +
                                 "' is neither a number nor a string"
                           : "the array holds something that is no number");
    addItem(/*isRow=*/true);
    if (counts.size() == kMostRank)
      fail("arrays are nested too deeply");
    counts.push_back(0);
  }

  void end(bool isObject) override {
    if (getDepth() == 1 || !isWanted)
      return;
    // The first array of each depth says how long its siblings are.
    size_t axis = counts.size() - 1;
    if (shape.size() <= axis)
      shape.resize(axis + 1, -1);
    if (shape[axis] < 0)
      shape[axis] = counts.back();
    if (shape[axis] != counts.back())
      fail("the array's rows have several lengths");
    counts.pop_back();
  }

  void addKey(const std::string &key) override {
    if (getDepth() == 1)
      isWanted = key == wanted;
  }

  void addScalar(json item) override {
    if (getDepth() == 0)
      fail(kNoObject);
    if (!isWanted || item.is_null()) {
      if (isWanted && getDepth() > 1)
        fail("the array holds something that is no number");
      return;
    }
    if (getDepth() == 1 && item.is_string()) {
      isFound = true;
      storage = item.get_ref<const std::string &>();
      value.kind = Value::Kind::Bytes;
      return;
    }
    if (!item.is_number() && !item.is_boolean())
      fail("the array holds something that is no number");
    addItem(/*isRow=*/false);
    if (value.dtype == DType::F64)
      append(item.is_boolean() ? double(item.get<bool>()) : item.get<double>());
    else if (item.is_number_float())
      useFloats(item.get<double>());
    else
      append(item.is_boolean() ? int64_t(item.get<bool>())
                               : item.get<int64_t>());
  }

  /// Counts an item of the innermost array. All of a depth are rows, or none.
  void addItem(bool isRow) {
    isFound = true;
    value.dtype = storage.empty() ? DType::I64 : value.dtype;
    if (counts.size() >= rows.size())
      rows.push_back(isRow);
    if (rows[counts.size()] != isRow)
      fail("the array's rows have several lengths");
    if (!counts.empty())
      ++counts.back();
  }

  /// All numbers are floats if one is.
  void useFloats(double last) {
    std::vector<int64_t> before(storage.size() / sizeof(int64_t));
    if (!before.empty())
      std::memcpy(before.data(), storage.data(), storage.size());
    storage.clear();
    value.dtype = DType::F64;
    for (int64_t number : before)
      append(static_cast<double>(number));
    append(last);
  }

  template <typename T> void append(T number) {
    storage.append(reinterpret_cast<const char *>(&number), sizeof(number));
  }

  const std::string &wanted;
  std::string &storage;
  Value value;
  bool isWanted = false, isFound = false;
  /// The items so far of the arrays that are open, and the sizes by depth.
  std::vector<int64_t> counts, shape;
  /// Whether the items of each depth are arrays.
  std::vector<bool> rows;
};

} // namespace

std::vector<std::string> ingot::runtime::listKeys(std::string_view text,
                                                  const std::string &where) {
  KeyReader reader(where);
  reader.read(text);
  // By name, as the fields of other files.
  std::sort(reader.keys.begin(), reader.keys.end());
  return std::move(reader.keys);
}

Value ingot::runtime::readKey(std::string_view text, const std::string &key,
                              std::string &storage, const std::string &where) {
  return FieldReader(where, key, storage).get(text);
}

bool ingot::runtime::areJsonLines(std::string_view bytes) {
  bytes = skipByteOrderMark(bytes);
  size_t first = bytes.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && bytes[first] == '{';
}

namespace {

class JsonLinesReader : public Reader {
public:
  JsonLinesReader(MappedFile given, std::vector<std::string> known)
      : Reader(given.getPath()), file(std::move(given)) {
    std::string_view bytes = file.getBytes();
    for (size_t at = bytes.size() - skipByteOrderMark(bytes).size();
         at < bytes.size();) {
      size_t end = bytes.find('\n', at);
      if (end == std::string_view::npos)
        end = bytes.size();
      std::string_view text = bytes.substr(at, end - at);
      if (text.find_first_not_of(" \t\r") != std::string_view::npos)
        starts.push_back(at);
      at = end + 1;
    }
    if (starts.empty())
      throw damaged(path, "the file has no lines");
    names = std::move(known);
    if (names.empty())
      names = listKeys(getLine(0), path + ": sample 0");
  }

  std::string_view getKind() const override { return "JSON lines"; }
  int64_t getSamples() const override {
    return static_cast<int64_t>(starts.size());
  }
  Value read(size_t field, int64_t sample,
             std::string &storage) const override {
    return readKey(getLine(sample), names[field], storage,
                   describe(field, sample));
  }

private:
  std::string_view getLine(int64_t sample) const {
    std::string_view rest = file.getBytes().substr(starts[sample]);
    return rest.substr(0, rest.find('\n'));
  }

  MappedFile file;
  std::vector<uint64_t> starts;
};

} // namespace

std::unique_ptr<Reader>
ingot::runtime::openJsonLines(MappedFile file, std::vector<std::string> names) {
  return std::make_unique<JsonLinesReader>(std::move(file), std::move(names));
}
