// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Samples in tar archives, as the webdataset package writes them.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/readers/Json.h"
#include "runtime/data/readers/Readers.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <charconv>

using namespace ingot::runtime;

/// Splits a member's name into the key of its sample and the name of its field.
static std::pair<std::string_view, std::string_view>
split(std::string_view name) {
  size_t slash = name.rfind('/');
  size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  size_t dot = name.find('.', base);
  if (dot == std::string_view::npos)
    return {name, ""};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

namespace {

class TarReader : public Reader {
public:
  explicit TarReader(MappedFile given)
      : Reader(given.getPath()), file(std::move(given)) {
    if (!readIndex(path, file.getBytes().size(), index))
      index = readTar(file.getBytes(), path);
    group();
    if (samples.empty())
      throw badInput(path, "the archive has no samples",
                     "members are named KEY.FIELD, such as 0001.jpg and "
                     "0001.cls");
    for (size_t e = 0; e < extensions.size(); ++e)
      nameFields(e);
  }

  std::string_view getKind() const override { return "tar"; }
  int64_t getSamples() const override {
    return static_cast<int64_t>(samples.size());
  }

  Value read(size_t field, int64_t sample,
             std::string &storage) const override {
    const Field &source = fields[field];
    const TarIndex::Member *member = find(source.extension, sample);
    if (!member)
      throw badInput(path + ": " + std::string(getKey(sample)),
                     "the sample has no ." + extensions[source.extension],
                     "write the archive again, or leave the sample out with "
                     "--skip-bad");
    std::string_view bytes =
        file.getBytes().substr(member->offset, member->size);
    std::string where = describe(field, sample);
    if (!source.key.empty())
      return readKey(bytes, source.key, storage, where);
    const std::string &extension = extensions[source.extension];
    Value value;
    if (extension == "npy" || extension.ends_with(".npy")) {
      Array array = readNpy(bytes, where);
      value.dtype = array.dtype;
      value.shape = array.shape;
      value.bytes = {array.data, static_cast<size_t>(value.getElements() *
                                                     getSize(value.dtype))};
      if (array.storage) {
        storage = value.bytes;
        value.bytes = storage;
      }
    } else if (extension == "cls" || extension == "index" ||
               extension == "id") {
      storage = parseInteger(bytes, where);
      value.dtype = DType::I64;
      value.bytes = storage;
    } else {
      value.kind = Value::Kind::Bytes;
      value.bytes = bytes;
    }
    return value;
  }

  std::string describe(size_t field, int64_t sample) const override {
    const TarIndex::Member *member = find(fields[field].extension, sample);
    return path + ": " +
           std::string(member ? index.getName(*member) : getKey(sample));
  }

private:
  struct Field {
    size_t extension;
    /// A key of the object in JSON; empty for the member as a whole.
    std::string key;
  };
  /// A range of members.
  struct Sample {
    size_t first, end;
  };

  std::string_view getKey(int64_t sample) const {
    return split(index.getName(index.members[samples[sample].first])).first;
  }

  const TarIndex::Member *find(size_t extension, int64_t sample) const {
    for (size_t m = samples[sample].first; m < samples[sample].end; ++m)
      if (split(index.getName(index.members[m])).second ==
          extensions[extension])
        return &index.members[m];
    return nullptr;
  }

  static std::string parseInteger(std::string_view text,
                                  const std::string &where) {
    size_t first = text.find_first_not_of(" \t\r\n");
    text = first == std::string_view::npos ? "" : text.substr(first);
    int64_t number = 0;
    auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number);
    std::string_view rest = text.substr(static_cast<size_t>(end - text.data()));
    if (error != std::errc() ||
        rest.find_first_not_of(" \t\r\n") != std::string_view::npos)
      throw badInput(where, "not an integer", "write the class as a number");
    return {reinterpret_cast<const char *>(&number), sizeof(number)};
  }

  /// Finds the members of each sample, which follow each other.
  void group() {
    constexpr size_t mostFields = 64;
    std::string_view last;
    for (size_t m = 0; m < index.members.size(); ++m) {
      auto [key, extension] = split(index.getName(index.members[m]));
      // Also what some systems add: `._0001.jpg`.
      if (extension.empty() || key.ends_with("/") || key.empty())
        continue;
      if (!samples.empty() && key == last && samples.back().end == m)
        samples.back().end = m + 1;
      else
        samples.push_back({m, m + 1});
      last = key;
      if (std::find(extensions.begin(), extensions.end(), extension) !=
          extensions.end())
        continue;
      if (extensions.size() == mostFields)
        throw badInput(path, "the samples have too many kinds of members",
                       "members are named KEY.FIELD, such as 0001.jpg");
      extensions.emplace_back(extension);
    }
  }

  void nameFields(size_t extension) {
    const std::string &name = extensions[extension];
    std::string_view stem = name;
    if (stem.ends_with(".npy"))
      stem.remove_suffix(4);
    add(std::string(stem), {extension, ""});
    if (name != "json" && !name.ends_with(".json"))
      return;
    for (int64_t s = 0; s < getSamples(); ++s) {
      const TarIndex::Member *member = find(extension, s);
      if (!member)
        continue;
      for (std::string &key :
           listKeys(file.getBytes().substr(member->offset, member->size),
                    path + ": " + std::string(index.getName(*member))))
        add(key, {extension, key});
      return;
    }
  }

  void add(std::string name, Field field) {
    if (findField(name))
      return;
    names.push_back(std::move(name));
    fields.push_back(std::move(field));
  }

  MappedFile file;
  TarIndex index;
  std::vector<Sample> samples;
  std::vector<std::string> extensions;
  std::vector<Field> fields;
};

} // namespace

std::unique_ptr<Reader> ingot::runtime::openTar(MappedFile file) {
  return std::make_unique<TarReader>(std::move(file));
}
