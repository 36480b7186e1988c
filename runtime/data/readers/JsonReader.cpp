// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// JSON lines: an object per line.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/readers/Json.h"
#include "runtime/data/readers/Readers.h"

#include "runtime/core/Error.h"

#include <cstring>
#include <nlohmann/json.hpp>

using namespace ingot::runtime;
using nlohmann::json;

static Error damaged(const std::string &where, const std::string &what) {
  return badInput(where, what,
                  "each line is an object such as {\"x\": [1, 2], \"labels\": "
                  "0}");
}

/// Parses an object; of its members only `key`, unless that is null.
static json parseObject(std::string_view text, const std::string *key,
                        const std::string &where) {
  bool isWanted = true;
  auto select = [&](int depth, json::parse_event_t event, json &parsed) {
    if (key && depth == 1 && event == json::parse_event_t::key) {
      isWanted = parsed.get_ref<const std::string &>() == *key;
      return isWanted;
    }
    return true;
  };
  json object = json::parse(text, select, /*allow_exceptions=*/false);
  if (!object.is_object())
    throw damaged(where, "not an object in JSON");
  return object;
}

std::vector<std::string> ingot::runtime::listKeys(std::string_view text,
                                                  const std::string &where) {
  std::vector<std::string> keys;
  json object = parseObject(text, nullptr, where);
  for (const auto &[key, value] : object.items())
    keys.push_back(key);
  return keys;
}

namespace {

/// Makes elements of nested arrays.
class Flattener {
public:
  Flattener(Value &value, std::string &storage, const std::string &where)
      : value(value), storage(storage), where(where) {}

  void flatten(const json &array) {
    measure(array);
    value.dtype = DType::I64;
    for (const json *level = &array; level->is_array() && !level->empty();)
      level = &level->front();
    if (hasFloats(array, 0))
      value.dtype = DType::F64;
    add(array, 0);
  }

private:
  static constexpr size_t kMostRank = 8;

  void measure(const json &array) {
    const json *level = &array;
    while (level->is_array()) {
      value.shape.push_back(static_cast<int64_t>(level->size()));
      if (value.shape.size() > kMostRank)
        throw damaged(where, "arrays are nested too deeply");
      if (level->empty())
        break;
      level = &level->front();
    }
  }

  bool hasFloats(const json &item, size_t depth) const {
    if (!item.is_array() || depth > kMostRank)
      return item.is_number_float();
    for (const json &each : item)
      if (hasFloats(each, depth + 1))
        return true;
    return false;
  }

  void add(const json &item, size_t depth) {
    bool isRow = depth < value.shape.size();
    if (isRow != item.is_array() ||
        (isRow && static_cast<int64_t>(item.size()) != value.shape[depth]))
      throw damaged(where, "the array's rows have several lengths");
    if (isRow) {
      for (const json &each : item)
        add(each, depth + 1);
      return;
    }
    if (!item.is_number() && !item.is_boolean())
      throw damaged(where, "the array holds something that is no number");
    if (value.dtype == DType::F64)
      append(item.is_boolean() ? double(item.get<bool>()) : item.get<double>());
    else
      append(item.is_boolean() ? int64_t(item.get<bool>())
                               : item.get<int64_t>());
  }

  template <typename T> void append(T number) {
    storage.append(reinterpret_cast<const char *>(&number), sizeof(number));
  }

  Value &value;
  std::string &storage;
  const std::string &where;
};

} // namespace

Value ingot::runtime::readKey(std::string_view text, const std::string &key,
                              std::string &storage, const std::string &where) {
  json object = parseObject(text, &key, where);
  auto found = object.find(key);
  if (found == object.end() || found->is_null())
    throw damaged(where, "the object has no '" + key + "'");
  Value value;
  storage.clear();
  if (found->is_string()) {
    storage = found->get_ref<const std::string &>();
    value.kind = Value::Kind::Bytes;
  } else if (found->is_object()) {
    throw damaged(where, "'" + key + "' is neither a number nor a string");
  } else {
    Flattener(value, storage, where).flatten(*found);
  }
  value.bytes = storage;
  return value;
}

bool ingot::runtime::areJsonLines(std::string_view bytes) {
  size_t first = bytes.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && bytes[first] == '{';
}

namespace {

class JsonLinesReader : public Reader {
public:
  explicit JsonLinesReader(MappedFile given)
      : Reader(given.getPath()), file(std::move(given)) {
    std::string_view bytes = file.getBytes();
    for (size_t at = 0; at < bytes.size();) {
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

std::unique_ptr<Reader> ingot::runtime::openJsonLines(MappedFile file) {
  return std::make_unique<JsonLinesReader>(std::move(file));
}
