// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Random access to the samples of a file. There is a reader for each kind of
// file; what is above knows only this interface.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_READERS_READER_H
#define INGOT_RUNTIME_DATA_READERS_READER_H

#include "runtime/core/DType.h"
#include "runtime/data/Npy.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot::runtime {

/// One field of one sample. The bytes lie in the file, or in the storage that
/// was given to Reader::read.
struct Value {
  /// Elements of `dtype`, or bytes that a recipe decodes: a picture or text.
  enum class Kind { Elements, Bytes };
  Kind kind = Kind::Elements;
  DType dtype = DType::U8;
  /// The shape of the elements; empty for a scalar and for bytes.
  std::vector<int64_t> shape;
  std::string_view bytes;

  int64_t getElements() const;
  /// Describes type and shape for messages and `ingot-data inspect`.
  std::string describe() const;
};

/// Whether a column of a table holds labels by its name.
bool isLabelColumn(std::string_view name);

class Reader {
public:
  virtual ~Reader() = default;

  const std::string &getPath() const { return path; }
  /// The names of the fields that samples have.
  const std::vector<std::string> &getNames() const { return names; }
  virtual std::optional<size_t> findField(std::string_view name) const;
  /// The kind of file, in words.
  virtual std::string_view getKind() const = 0;
  virtual int64_t getSamples() const = 0;

  /// Returns the array of a field if all samples lie in one; it is checked as a
  /// whole then. May read the file. Null if samples are read one by one.
  virtual const Array *load(size_t field) { return nullptr; }

  /// Reads a field of a sample; any number of threads may. The value is valid
  /// as long as the reader and `storage`. Throws badInput that names file and
  /// member.
  virtual Value read(size_t field, int64_t sample,
                     std::string &storage) const = 0;

  /// Reads a sample of a file of tokens that begins at any of the first
  /// countStarts() tokens.
  virtual Value readFrom(size_t field, int64_t token) const { return {}; }
  virtual int64_t countStarts() const { return 0; }

  /// The names of the classes that the labels of a folder of pictures are the
  /// places of; empty for other kinds.
  virtual std::vector<std::string> getClasses() const { return {}; }

  /// The files that samples are read from as they are mapped.
  virtual std::vector<std::string> listFiles() const { return {path}; }

  /// Messages count the samples from this one on, of a part of a stream.
  void countFrom(int64_t sample) { firstNumber = sample; }

  /// Names a field of a sample for messages, as `FILE: MEMBER`.
  virtual std::string describe(size_t field, int64_t sample) const;
  /// Names a field of all samples.
  virtual std::string describeField(size_t field) const;

protected:
  explicit Reader(std::string path) : path(std::move(path)) {}

  std::string path;
  std::vector<std::string> names;
  int64_t firstNumber = 0;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_READERS_READER_H
