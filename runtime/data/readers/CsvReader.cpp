// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tables as text: a line with the names of columns, then a line for each sample
// (RFC 4180), with commas, semicolons or tabs between cells.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/readers/Readers.h"

#include "runtime/core/Error.h"
#include "runtime/core/Text.h"
#include "runtime/core/text/ByteOrderMark.h"
#include "runtime/data/readers/TableReader.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

using namespace ingot::runtime;

static Error damaged(const std::string &where, const std::string &what) {
  return badInput(where, what,
                  "the first line has the names of the columns, and each other "
                  "line a sample, with a cell for each name");
}

/// Returns the name without what says how the file is compressed.
static std::string getPlainName(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  for (std::string_view ending : {".gz", ".zst"})
    if (name.ends_with(ending))
      name.resize(name.size() - ending.size());
  return name;
}

bool ingot::runtime::isTable(const std::string &path) {
  std::string name = getPlainName(path);
  return name.ends_with(".csv") || name.ends_with(".tsv");
}

namespace {

class CsvReader : public TableReader {
public:
  explicit CsvReader(MappedFile given)
      : TableReader(given.getPath()), file(std::move(given)) {
    std::string_view bytes = file.getBytes();
    size_t at = bytes.size() - skipByteOrderMark(bytes).size();
    std::string_view header = takeLine(bytes, at);
    chooseSeparator(header);
    nameColumns(header);
    while (at < bytes.size()) {
      size_t start = at;
      if (!takeLine(bytes, at).empty())
        starts.push_back(start);
    }
    if (starts.empty())
      throw damaged(path, "the file has no lines of samples");
  }

  std::string_view getKind() const override { return "CSV"; }
  int64_t getSamples() const override {
    return static_cast<int64_t>(starts.size());
  }

  Value read(size_t field, int64_t sample,
             std::string &storage) const override {
    std::string where = describe(field, sample);
    size_t at = starts[static_cast<size_t>(sample)];
    std::string_view line = takeLine(file.getBytes(), at);
    Value value;
    storage.clear();
    if (isRow(field)) {
      readRow(line, where, storage);
      value.dtype = DType::F64;
      value.shape = {static_cast<int64_t>(features.size())};
      value.bytes = storage;
      return value;
    }
    std::string cell;
    size_t number = 0;
    while (takeCell(line, cell, where))
      if (number++ == field)
        parse(cell, value, storage);
    checkCount(number, where);
    value.bytes = storage;
    return value;
  }

private:
  /// Returns the line at `at` without its end, and moves behind it. Cells in
  /// quotes may have line breaks.
  static std::string_view takeLine(std::string_view bytes, size_t &at) {
    size_t end = at;
    for (bool isQuoted = false;
         end < bytes.size() && (isQuoted || bytes[end] != '\n'); ++end)
      isQuoted ^= bytes[end] == '"';
    std::string_view line = bytes.substr(at, end - at);
    at = std::min(end + 1, bytes.size());
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    return line;
  }

  void chooseSeparator(std::string_view header) {
    int64_t most = 0;
    for (char candidate : {',', '\t', ';'})
      if (int64_t count = std::count(header.begin(), header.end(), candidate);
          count > most) {
        most = count;
        separator = candidate;
      }
  }

  /// Takes the next cell of a line, whose data are null at its end.
  bool takeCell(std::string_view &line, std::string &cell,
                const std::string &where) const {
    if (!line.data())
      return false;
    cell.clear();
    size_t at = 0;
    if (line.starts_with('"')) {
      for (at = 1; at < line.size(); ++at) {
        if (line[at] == '"' && line.substr(at + 1).starts_with('"'))
          ++at;
        else if (line[at] == '"')
          break;
        cell += line[at];
      }
      if (at++ >= line.size())
        throw damaged(where, "a quote is not closed");
      if (at < line.size() && line[at] != separator)
        throw damaged(where, "there is something between a quote and the end "
                             "of its cell");
    } else {
      at = std::min(line.find(separator), line.size());
      cell = line.substr(0, at);
    }
    line = at < line.size() ? line.substr(at + 1) : std::string_view();
    return true;
  }

  void nameColumns(std::string_view header) {
    std::string cell, where = path + ": line 1";
    std::unordered_set<std::string> known;
    double ignored = 0;
    bool areNumbers = true;
    while (takeCell(header, cell, where)) {
      cell = trim(cell);
      areNumbers &= parseNumber(cell, ignored);
      if (!known.insert(cell).second)
        throw damaged(where,
                      "two columns are named '" + describeName(cell) + "'");
      names.push_back(cell);
    }
    if (areNumbers)
      throw damaged(where,
                    "there are numbers in place of the names of columns");
    for (size_t i = 0; i < names.size(); ++i)
      if (!isLabelColumn(names[i]))
        features.push_back(i);
  }

  static std::string_view trim(std::string_view text) {
    size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos)
      return "";
    return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
  }

  template <typename T>
  static bool parseNumber(std::string_view text, T &value) {
    const char *end = text.data() + text.size();
    auto parsed = std::from_chars(text.data(), end, value);
    return !text.empty() && parsed.ec == std::errc() && parsed.ptr == end;
  }

  void checkCount(size_t count, const std::string &where) const {
    if (count != names.size())
      throw damaged(where, std::to_string(count) + " cells, and there are " +
                               std::to_string(names.size()) + " columns");
  }

  /// An integer, another number, or text.
  static void parse(std::string_view cell, Value &value, std::string &storage) {
    std::string_view text = trim(cell);
    int64_t integer = 0;
    double number = 0;
    if (parseNumber(text, integer)) {
      value.dtype = DType::I64;
      storage.assign(reinterpret_cast<const char *>(&integer), sizeof(integer));
    } else if (parseNumber(text, number)) {
      value.dtype = DType::F64;
      storage.assign(reinterpret_cast<const char *>(&number), sizeof(number));
    } else {
      value.kind = Value::Kind::Bytes;
      storage = cell;
    }
  }

  void readRow(std::string_view line, const std::string &where,
               std::string &storage) const {
    std::string cell;
    size_t number = 0, next = 0;
    for (; takeCell(line, cell, where); ++number) {
      if (next == features.size() || features[next] != number)
        continue;
      double value = 0;
      if (!parseNumber(trim(cell), value))
        throw damaged(where, "'" + describeName(cell) + "' in column '" +
                                 describeName(names[number]) +
                                 "' is no number");
      storage.append(reinterpret_cast<const char *>(&value), sizeof(value));
      ++next;
    }
    checkCount(number, where);
  }

  MappedFile file;
  char separator = ',';
  std::vector<uint64_t> starts;
};

} // namespace

std::unique_ptr<Reader> ingot::runtime::openTable(MappedFile file) {
  return std::make_unique<CsvReader>(std::move(file));
}
