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
#include <cstdint>
#include <unordered_set>

using namespace ingot::runtime;

/// Extensions are those of webdataset, in small letters.
static std::string toLower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
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
                     "the sample has no ." +
                         extensions[source.extension].written,
                     "write the archive again, or leave the sample out with "
                     "--skip-bad");
    std::string_view bytes =
        file.getBytes().substr(member->offset, member->size);
    std::string where = describe(field, sample);
    if (!source.key.empty())
      return readKey(bytes, source.key, storage, where);
    const std::string &extension = extensions[source.extension].lower;
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

  /// Names of fields may be in other letters than those of members.
  std::optional<size_t> findField(std::string_view name) const override {
    if (auto exact = Reader::findField(name))
      return exact;
    for (size_t f = 0; f < fields.size(); ++f)
      if (fields[f].key.empty() && toLower(names[f]) == name)
        return f;
    return std::nullopt;
  }

private:
  struct Extension {
    /// The extension as the first member of the kind has it, and in small
    /// letters.
    std::string written, lower;
  };
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
    return splitMember(index.getName(index.members[samples[sample].first]))
        .first;
  }

  const TarIndex::Member *find(size_t extension, int64_t sample) const {
    for (size_t m = samples[sample].first; m < samples[sample].end; ++m) {
      std::string_view own =
          splitMember(index.getName(index.members[m])).second;
      if (own == extensions[extension].written ||
          toLower(own) == extensions[extension].lower)
        return &index.members[m];
    }
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
    std::string_view last;
    // The kinds of members that the last sample has.
    uint64_t present = 0;
    static_assert(kMostFields <= 64);
    for (size_t m = 0; m < index.members.size(); ++m) {
      std::string_view name = index.getName(index.members[m]);
      auto [key, extension] = splitMember(name);
      if (key.empty())
        continue;
      if (samples.empty() || key != last) {
        samples.push_back({m, m + 1});
        present = 0;
      }
      samples.back().end = m + 1;
      last = key;
      uint64_t bit = uint64_t(1) << findExtension(extension);
      if (present & bit)
        throw badInput(path + ": " + std::string(name),
                       "the sample has this member twice",
                       "write the archive again, with one member of each name "
                       "for a sample");
      present |= bit;
    }
  }

  size_t findExtension(std::string_view extension) {
    std::string lower = toLower(extension);
    auto known = std::find_if(
        extensions.begin(), extensions.end(),
        [&](const Extension &other) { return other.lower == lower; });
    auto number = static_cast<size_t>(known - extensions.begin());
    if (known != extensions.end())
      return number;
    if (number == kMostFields)
      throw badInput(path, "the samples have too many kinds of members",
                     "members are named KEY.FIELD, such as 0001.jpg");
    extensions.push_back({std::string(extension), lower});
    return number;
  }

  void nameFields(size_t extension) {
    const std::string &name = extensions[extension].lower;
    std::string_view stem = extensions[extension].written;
    if (name.ends_with(".npy"))
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
    if (!known.insert(name).second)
      return;
    names.push_back(std::move(name));
    fields.push_back(std::move(field));
  }

  static constexpr size_t kMostFields = 64;

  MappedFile file;
  TarIndex index;
  std::vector<Sample> samples;
  std::vector<Extension> extensions;
  std::vector<Field> fields;
  std::unordered_set<std::string> known;
};

} // namespace

std::unique_ptr<Reader> ingot::runtime::openTar(MappedFile file) {
  return std::make_unique<TarReader>(std::move(file));
}
