// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Writers of samples.
//
//===----------------------------------------------------------------------===//

#include "tools/ingot-data/Commands.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <unordered_map>

using namespace ingot;
using namespace ingot::runtime;

namespace {

/// Writes samples one after another.
class Writer {
public:
  virtual ~Writer() = default;
  /// Begins a sample.
  virtual void begin() {}
  /// Adds a field of the sample.
  virtual void add(const std::string &name, const Value &value,
                   const std::string &where) = 0;
  virtual void finish() = 0;
};

class TarWriter : public Writer {
public:
  explicit TarWriter(const std::string &path) : path(path), file(path) {}

  void begin() override { ++samples; }

  void add(const std::string &name, const Value &value,
           const std::string &where) override {
    char key[32];
    std::snprintf(key, sizeof(key), "%09lld.",
                  static_cast<long long>(samples - 1));
    if (value.kind == Value::Kind::Bytes) {
      bool isJpeg = value.bytes.starts_with("\xff\xd8\xff");
      bool isPng = value.bytes.starts_with("\x89PNG");
      addMember(key + (isJpeg ? "jpg" : isPng ? "png" : name), value.bytes);
      return;
    }
    if (name == "labels" && value.shape.empty() && !isFloat(value.dtype)) {
      int64_t label;
      convert(value.bytes.data(), value.dtype, &label, DType::I64, 1);
      addMember(key + std::string("cls"), std::to_string(label));
      return;
    }
    addMember(key + name + ".npy", makeNpyHeader(value.dtype, value.shape) +
                                       std::string(value.bytes));
  }

  void finish() override {
    file.write(std::string(2 * kBlock, '\0'));
    file.commit();
  }

private:
  static constexpr size_t kBlock = 512, kNameSize = 100;

  void addMember(const std::string &name, std::string_view content) {
    if (name.size() >= kNameSize)
      throw badInput(path, "a field's name is too long", "rename the field");
    char header[kBlock] = {};
    std::memcpy(header, name.data(), name.size());
    std::memcpy(header + 100,
                "0000644\0"
                "0000000\0"
                "0000000",
                23);
    // Eleven octal digits, or GNU's binary form beyond 8 GiB.
    uint64_t size = content.size();
    constexpr uint64_t mostOctal = uint64_t(1) << 33;
    if (size < mostOctal) {
      std::snprintf(header + 124, 12, "%011llo",
                    static_cast<unsigned long long>(size));
    } else {
      header[124] = static_cast<char>(0x80);
      for (int i = 0; i < 8; ++i)
        header[135 - i] = static_cast<char>(size >> (8 * i));
    }
    std::memcpy(header + 136, "00000000000", 11);
    header[156] = '0';
    std::memcpy(header + 257, "ustar\00000", 8);
    std::memset(header + 148, ' ', 8);
    unsigned sum = 0;
    for (char c : header)
      sum += static_cast<unsigned char>(c);
    std::snprintf(header + 148, 8, "%06o", sum);
    file.write(header, sizeof(header));
    file.write(content);
    file.write(std::string((kBlock - size % kBlock) % kBlock, '\0'));
  }

  std::string path;
  AtomicFile file;
  int64_t samples = 0;
};

/// Gathers arrays in memory.
class NpzWriter : public Writer {
public:
  explicit NpzWriter(const std::string &path) : file(path) {}

  void add(const std::string &name, const Value &value,
           const std::string &where) override {
    if (value.kind != Value::Kind::Elements)
      throw badInput(where, "text and pictures are no arrays",
                     "convert to .tar, or choose a field with --field");
    auto [place, isNew] = places.try_emplace(name, columns.size());
    if (isNew)
      columns.push_back({name, value.dtype, value.shape, 0, ""});
    Column *known = &columns[place->second];
    if (known->shape != value.shape || known->dtype != value.dtype)
      throw badInput(where,
                     "the field is " + value.describe() +
                         ", in other samples something else",
                     "convert to .tar, which takes samples of several shapes");
    known->bytes += value.bytes;
    ++known->samples;
  }

  void finish() override {
    for (const Column &column : columns) {
      std::vector<int64_t> shape = column.shape;
      shape.insert(shape.begin(), column.samples);
      std::string header = makeNpyHeader(column.dtype, shape);
      file.begin(column.name + ".npy", header.size() + column.bytes.size());
      file.write(header);
      file.write(column.bytes);
      file.end();
    }
    file.commit();
  }

private:
  struct Column {
    std::string name;
    DType dtype;
    std::vector<int64_t> shape;
    int64_t samples;
    std::string bytes;
  };
  ZipWriter file;
  std::vector<Column> columns;
  std::unordered_map<std::string, size_t> places;
};

/// Writes integers as tokens in llm.c's layout: 16 bits if that is enough.
class TokenWriter : public Writer {
public:
  explicit TokenWriter(const std::string &path) : path(path), file(path) {}

  void add(const std::string &name, const Value &value,
           const std::string &where) override {
    if (value.kind == Value::Kind::Elements && isFloat(value.dtype))
      throw badInput(where, "the field has no integers",
                     "choose a field of tokens with --field");
    auto append = [&](int64_t token) {
      if (token < 0 || token > UINT32_MAX)
        throw badInput(where,
                       "token " + std::to_string(token) +
                           " does not fit in 32 bits",
                       "correct the token");
      tokens.push_back(static_cast<uint32_t>(token));
    };
    if (value.kind == Value::Kind::Bytes) {
      for (char c : value.bytes)
        append(static_cast<uint8_t>(c));
      return;
    }
    std::vector<int64_t> numbers(static_cast<size_t>(value.getElements()));
    convert(value.bytes.data(), value.dtype, numbers.data(), DType::I64,
            value.getElements());
    for (int64_t token : numbers)
      append(token);
  }

  void finish() override {
    if (tokens.size() > INT32_MAX)
      throw badInput(path, "more than 2147483647 tokens",
                     "convert fewer files into each");
    bool isWide = std::any_of(tokens.begin(), tokens.end(),
                              [](uint32_t t) { return t > UINT16_MAX; });
    int32_t header[256] = {isWide ? 20240801 : 20240520, isWide ? 7 : 1,
                           static_cast<int32_t>(tokens.size())};
    file.write(header, sizeof(header));
    for (uint32_t token : tokens)
      file.write(&token, isWide ? 4 : 2);
    file.commit();
  }

private:
  std::string path;
  AtomicFile file;
  std::vector<uint32_t> tokens;
};

} // namespace

static std::unique_ptr<Writer> makeWriter(const std::string &path) {
  if (path.ends_with(".tar"))
    return std::make_unique<TarWriter>(path);
  if (path.ends_with(".npz"))
    return std::make_unique<NpzWriter>(path);
  if (path.ends_with(".bin"))
    return std::make_unique<TokenWriter>(path);
  throw usageError("-o", "'" + path + "' ends with no known kind",
                   "write a .tar, .npz or .bin file");
}

std::vector<std::string> ingot::convertFiles(const DataFiles &files,
                                             const std::string &output,
                                             const std::string &field,
                                             int64_t samplesPerShard) {
  std::vector<std::string> written;
  std::unique_ptr<Writer> writer;
  int64_t samples = 0;
  std::string storage;
  auto startFile = [&] {
    std::string path = output;
    if (samplesPerShard > 0) {
      char number[16];
      std::snprintf(number, sizeof(number), "-%06zu.tar", written.size());
      path += number;
    }
    writer = makeWriter(path);
    written.push_back(path);
  };
  for (const DataFile &file : files.files) {
    auto reader = openFile(file);
    std::optional<size_t> only = reader->findField(field);
    if (!only && !field.empty())
      throw badInput(file.path + ": " + field, "no such field in the file",
                     "ingot-data inspect lists the fields");
    for (int64_t sample = 0; sample < reader->getSamples(); ++sample) {
      if (writer && samplesPerShard > 0 && samples % samplesPerShard == 0) {
        writer->finish();
        writer = nullptr;
      }
      if (!writer)
        startFile();
      ++samples;
      writer->begin();
      for (size_t f = 0; f < reader->getNames().size(); ++f)
        if ((!only || *only == f) && reader->getNames()[f] != "next")
          writer->add(reader->getNames()[f], reader->read(f, sample, storage),
                      reader->describe(f, sample));
    }
  }
  if (writer)
    writer->finish();
  return written;
}
