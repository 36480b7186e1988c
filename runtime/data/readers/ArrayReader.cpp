// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Samples along the first axis of arrays.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/readers/Readers.h"

#include "runtime/core/Error.h"
#include "runtime/data/files/Pipes.h"

#include <filesystem>
#include <map>

using namespace ingot::runtime;

namespace {

class ArrayReader : public Reader {
public:
  ArrayReader(std::vector<MappedFile> mapped, const std::string &only)
      : Reader(mapped.front().getPath()) {
    std::map<std::string, Source> sources;
    for (MappedFile &one : mapped) {
      const std::string each = one.getPath();
      const ArrayFile *file =
          files.emplace_back(std::make_unique<ArrayFile>(std::move(one))).get();
      if (!file->isSingle()) {
        for (const std::string &name : file->getNames())
          sources[name] = {file, name};
        continue;
      }
      std::string name = std::filesystem::path(each).stem();
      if (!only.empty())
        name = only;
      if (!sources.try_emplace(name, Source{file, ""}).second)
        throw badInput(each, "a file of that name came before",
                       "give one file for each of the model's inputs");
    }
    for (auto &[name, source] : sources) {
      names.push_back(name);
      fields.push_back(std::move(source));
    }
  }

  std::string_view getKind() const override {
    return files.front()->isSingle() ? "npy" : "npz";
  }

  /// The extent of the arrays that are loaded.
  int64_t getSamples() const override {
    for (const Source &source : fields)
      if (source.isLoaded)
        return source.array.shape.empty() ? 0 : source.array.shape.front();
    return 0;
  }

  const Array *load(size_t field) override {
    Source &source = fields[field];
    if (!source.isLoaded)
      source.array = source.file->read(source.inner);
    source.isLoaded = true;
    return &source.array;
  }

  Value read(size_t field, int64_t sample,
             std::string &storage) const override {
    const Array &array = fields[field].array;
    Value value;
    value.dtype = array.dtype;
    value.shape.assign(array.shape.begin() + 1, array.shape.end());
    int64_t bytes = value.getElements() * getSize(value.dtype);
    value.bytes = {array.data + sample * bytes, static_cast<size_t>(bytes)};
    return value;
  }

  std::vector<std::string> listFiles() const override {
    std::vector<std::string> paths;
    for (const auto &file : files)
      paths.push_back(file->getPath());
    return paths;
  }

  std::string describe(size_t field, int64_t sample) const override {
    return describeField(field) + ": sample " + std::to_string(sample);
  }
  std::string describeField(size_t field) const override {
    const Source &source = fields[field];
    std::string text = source.file->getPath();
    return source.inner.empty() ? text : text + ": " + source.inner;
  }

private:
  struct Source {
    const ArrayFile *file = nullptr;
    /// The name within the file; empty for a .npy file.
    std::string inner;
    Array array = {};
    bool isLoaded = false;
  };
  std::vector<std::unique_ptr<ArrayFile>> files;
  std::vector<Source> fields;
};

} // namespace

std::unique_ptr<Reader>
ingot::runtime::openArrays(const std::vector<std::string> &paths,
                           const std::string &only) {
  std::vector<MappedFile> files;
  for (const std::string &path : paths)
    files.push_back(openInput(path));
  return std::make_unique<ArrayReader>(std::move(files), only);
}

std::unique_ptr<Reader> ingot::runtime::openArrays(MappedFile file,
                                                   const std::string &only) {
  std::vector<MappedFile> files;
  files.push_back(std::move(file));
  return std::make_unique<ArrayReader>(std::move(files), only);
}
