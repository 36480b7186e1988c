// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/readers/parquet/Column.h"

#include "runtime/data/readers/parquet/Pages.h"

#include <algorithm>
#include <cstring>

using namespace ingot::runtime;
using namespace ingot::runtime::parquet;

/// The entries that are decoded at a time.
static constexpr size_t kPiece = 4096;

/// Adds the entries of pages to a column.
class Column::Builder {
public:
  Builder(Column &column, const MappedFile &file, Budget &budget,
          const std::string &where)
      : column(column), leaf(column.leaf), path(file.getPath()), where(where),
        size(getValueSize(leaf)), store(path, budget), repetitions(kPiece),
        definitions(kPiece), staged(kPiece * size), narrowed(kPiece * size),
        counts(leaf.lists.size()) {
    for (size_t i = 0; i < leaf.lists.size(); ++i)
      offsets.push_back(std::make_unique<Store>(path, budget));
  }

  int64_t getRows() const { return rows; }

  void addPage(Page &page, const Dictionary *dictionary) {
    PageValues values{leaf,        page.encoding, page.count,
                      page.values, dictionary,    where};
    std::unique_ptr<ValueDecoder> decoder = decodeValues(values, *column.bytes);
    for (uint64_t done = 0; done < page.count; done += kPiece)
      addPiece(page, *decoder, std::min<uint64_t>(kPiece, page.count - done));
  }

  void finish() {
    for (size_t level = 0; level < offsets.size(); ++level) {
      offsets[level]->add(&counts[level], sizeof(int64_t));
      column.offsets.push_back(offsets[level]->finish());
    }
    column.values = store.finish();
    column.bytes->finish();
    if (!column.nulls.empty())
      column.nulls.resize(static_cast<size_t>(rows));
  }

private:
  void addPiece(Page &page, ValueDecoder &decoder, size_t count) {
    size_t present = count;
    if (!leaf.lists.empty())
      page.repetitions.read(repetitions.data(), count, where);
    if (leaf.definition != 0) {
      page.definitions.read(definitions.data(), count, where);
      present = static_cast<size_t>(
          std::count(definitions.begin(), definitions.begin() + count,
                     static_cast<uint32_t>(leaf.definition)));
    }
    decoder.read(present, staged.data());
    const char *from = narrow(present);
    if (leaf.lists.empty() && present == count) {
      store.add(from, count * width);
      rows += static_cast<int64_t>(count);
      return;
    }
    for (size_t i = 0; i < count; ++i)
      if (addEntry(leaf.lists.empty() ? 0 : repetitions[i],
                   leaf.definition == 0 ? 0 : definitions[i], from))
        from += width;
  }

  /// Adds a value, a null or an empty list. Returns whether it is a value.
  bool addEntry(uint32_t repetition, uint32_t definition, const char *value) {
    if (repetition > leaf.lists.size() || (rows == 0 && repetition != 0) ||
        definition > static_cast<uint32_t>(leaf.definition) ||
        (repetition != 0 &&
         definition < static_cast<uint32_t>(leaf.lists[repetition - 1])))
      throw damaged(where, "the levels of a page are damaged");
    if (repetition == 0)
      ++rows;
    else
      ++counts[repetition - 1];
    for (size_t level = repetition; level < leaf.lists.size(); ++level) {
      uint32_t least = static_cast<uint32_t>(leaf.lists[level]);
      offsets[level]->add(&counts[level], sizeof(int64_t));
      if (definition + 1 < least)
        addNull();
      if (definition < least)
        return false;
      ++counts[level];
    }
    if (definition == static_cast<uint32_t>(leaf.definition)) {
      store.add(value, width);
      return true;
    }
    addNull();
    static constexpr char zero[sizeof(Span)] = {};
    store.add(zero, std::min(width, sizeof(zero)));
    return false;
  }

  void addNull() {
    column.nulls.resize(static_cast<size_t>(rows));
    column.nulls.back() = true;
  }

  /// Makes numbers of one or two bytes of those that are stored with four.
  const char *narrow(size_t count) {
    if (leaf.isBytes || width == size)
      return staged.data();
    DType stored = leaf.dtype == DType::U8 || leaf.dtype == DType::U16
                       ? DType::U32
                       : DType::I32;
    int64_t at = 0;
    if (!fitsIn(staged.data(), stored, leaf.dtype, static_cast<int64_t>(count),
                at))
      throw damaged(where, "a number does not fit in the type of its column");
    convert(staged.data(), stored, narrowed.data(), leaf.dtype,
            static_cast<int64_t>(count));
    return narrowed.data();
  }

  Column &column;
  const Leaf &leaf;
  const std::string &path, &where;
  /// The bytes of a value as it is decoded, and as it is kept.
  size_t size;
  size_t width = leaf.isBytes ? size : static_cast<size_t>(getSize(leaf.dtype));
  Store store;
  std::vector<std::unique_ptr<Store>> offsets;
  std::vector<uint32_t> repetitions, definitions;
  std::vector<char> staged, narrowed;
  int64_t rows = 0;
  /// The items so far of all lists of each level.
  std::vector<int64_t> counts;
};

Column::Column(const MappedFile &file, const Metadata &metadata, size_t index,
               Budget &budget, const std::string &where)
    : leaf(metadata.leaves[index]),
      bytes(std::make_unique<ByteStore>(file, budget)) {
  Builder builder(*this, file, budget, where);
  int64_t rows = 0;
  for (const RowGroup &group : metadata.groups) {
    const Chunk &chunk = group.chunks[index];
    PageReader pages(file.getBytes().substr(chunk.offset, chunk.size), chunk,
                     leaf, *bytes, budget, where);
    Page page;
    while (pages.next(page))
      builder.addPage(page, pages.getDictionary());
    rows += group.rows;
    if (builder.getRows() != rows)
      throw damaged(where, "the column has " +
                               std::to_string(builder.getRows()) +
                               " rows in place of " + std::to_string(rows));
  }
  builder.finish();
  array = makeArray(rows);
}

int64_t Column::getOffset(size_t level, int64_t item) const {
  int64_t offset;
  std::memcpy(&offset,
              offsets[level].getBytes().data() +
                  item * static_cast<int64_t>(sizeof(offset)),
              sizeof(offset));
  return offset;
}

std::optional<Array> Column::makeArray(int64_t rows) const {
  if (leaf.isBytes || !nulls.empty())
    return std::nullopt;
  Array all{leaf.dtype, {rows}, values.getBytes().data(), nullptr};
  int64_t items = rows;
  for (size_t level = 0; level < offsets.size(); ++level) {
    int64_t extent = items == 0 ? 0 : getOffset(level, 1);
    for (int64_t i = 0; i < items; ++i)
      if (getOffset(level, i + 1) - getOffset(level, i) != extent)
        return std::nullopt;
    all.shape.push_back(extent);
    items *= extent;
  }
  return all;
}

Value Column::read(int64_t row, const std::string &where) const {
  if (!nulls.empty() && nulls[static_cast<size_t>(row)])
    throw badInput(where, "the value is null", "leave such rows out");
  if (leaf.isBytes && !offsets.empty())
    throw badInput(where, "lists of text are not supported",
                   "keep one text in each row");
  Value value;
  value.dtype = leaf.dtype;
  int64_t first = row, count = 1;
  for (size_t level = 0; level < offsets.size(); ++level) {
    int64_t begin = getOffset(level, first), at = begin, extent = 0;
    for (int64_t i = 0; i < count; ++i) {
      int64_t end = getOffset(level, first + i + 1);
      if (i != 0 && end - at != extent)
        throw badInput(where, "the lists have several lengths",
                       "pad or cut them to one length");
      extent = end - at;
      at = end;
    }
    value.shape.push_back(extent);
    first = begin;
    count = at - begin;
  }
  if (leaf.isBytes) {
    Span span;
    std::memcpy(&span,
                values.getBytes().data() +
                    row * static_cast<int64_t>(sizeof(span)),
                sizeof(span));
    value.kind = Value::Kind::Bytes;
    value.bytes = bytes->get(span);
    return value;
  }
  size_t width = static_cast<size_t>(getSize(leaf.dtype));
  value.bytes = values.getBytes().substr(static_cast<size_t>(first) * width,
                                         static_cast<size_t>(count) * width);
  return value;
}
