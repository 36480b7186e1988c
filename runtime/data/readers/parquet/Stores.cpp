// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/readers/parquet/Stores.h"

#include "runtime/data/readers/parquet/Metadata.h"
#include "runtime/data/unpacking/Zstd.h"

using namespace ingot::runtime;
using namespace ingot::runtime::parquet;

/// How much is made of any file, however small.
static constexpr uint64_t kFree = uint64_t(64) << 20;
static constexpr size_t kPiece = size_t(1) << 18;

Budget::Budget(uint64_t fileSize) : left(fileSize * kMostRatio + kFree) {}

void Budget::take(uint64_t bytes, const std::string &where) {
  uint64_t before = left;
  do {
    if (bytes > before)
      throw damaged(where, "the content is more than " +
                               std::to_string(kMostRatio) +
                               " times as large as the file");
  } while (!left.compare_exchange_weak(before, before - bytes));
}

void Store::add(const void *bytes, size_t count) {
  budget.take(count, path);
  size += count;
  buffer.append(static_cast<const char *>(bytes), count);
  if (buffer.size() >= kPiece)
    flush();
}

void Store::flush() {
  if (!file)
    file = std::make_unique<NamelessFile>(path);
  file->write(buffer.data(), buffer.size());
  buffer.clear();
}

MappedFile Store::finish() {
  if (size == 0)
    return {};
  flush();
  buffer.shrink_to_fit();
  MappedFile mapped = file->map();
  file.reset();
  return mapped;
}

uint64_t ByteStore::add(std::string_view bytes) {
  const char *begin = original.data(), *end = begin + original.size();
  if (bytes.data() >= begin && bytes.data() < end)
    return static_cast<uint64_t>(bytes.data() - begin) | kInFile;
  uint64_t place = own.getSize();
  own.add(bytes);
  return place;
}

std::string_view ByteStore::get(Span span) const {
  std::string_view from = span.place & kInFile ? original : added.getBytes();
  return from.substr(span.place & ~kInFile, span.size);
}
