// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/readers/parquet/Encodings.h"

#include "runtime/data/readers/parquet/DeltaDecoder.h"

#include <algorithm>
#include <cstring>

using namespace ingot::runtime;
using namespace ingot::runtime::parquet;

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

static Error truncated(const std::string &where) {
  return damaged(where, "a page has fewer values than it says");
}

void RunDecoder::enterRun(const std::string &where) {
  uint64_t head = takeVarint(bytes, where);
  isPacked = head & 1;
  left = head >> 1;
  if (!isPacked) {
    size_t width = (static_cast<size_t>(bits) + 7) / 8;
    if (bytes.size() < width)
      throw truncated(where);
    repeated = 0;
    std::memcpy(&repeated, bytes.data(), width);
    bytes.remove_prefix(width);
    return;
  }
  // Groups of eight; writers may leave out the last bytes of a page.
  if (left > UINT64_MAX / 512)
    throw truncated(where);
  uint64_t size = left * static_cast<uint64_t>(bits);
  left *= 8;
  packed = bytes.substr(0, std::min<uint64_t>(size, bytes.size()));
  bytes.remove_prefix(packed.size());
  position = 0;
}

void RunDecoder::read(uint32_t *to, size_t count, const std::string &where) {
  while (count != 0) {
    if (left == 0) {
      if (bytes.empty())
        throw truncated(where);
      enterRun(where);
      continue;
    }
    size_t some = std::min<uint64_t>(count, left);
    if (isPacked)
      for (size_t i = 0; i < some; ++i)
        to[i] = static_cast<uint32_t>(takeBits(packed, position, bits, where));
    else
      std::fill_n(to, some, repeated);
    to += some;
    count -= some;
    left -= some;
  }
}

//===----------------------------------------------------------------------===//
// Plain values
//===----------------------------------------------------------------------===//

namespace {

class PlainDecoder : public ValueDecoder {
public:
  PlainDecoder(std::string_view bytes, size_t width, const std::string &where)
      : bytes(bytes), width(width), where(where) {}

  void read(size_t count, char *to) override {
    if (count > bytes.size() / width)
      throw truncated(where);
    std::memcpy(to, bytes.data(), count * width);
    bytes.remove_prefix(count * width);
  }

private:
  std::string_view bytes;
  size_t width;
  const std::string &where;
};

class BitDecoder : public ValueDecoder {
public:
  BitDecoder(std::string_view bytes, const std::string &where)
      : bytes(bytes), where(where) {}

  void read(size_t count, char *to) override {
    for (size_t i = 0; i < count; ++i)
      to[i] = static_cast<char>(takeBits(bytes, position, 1, where));
  }

private:
  std::string_view bytes;
  uint64_t position = 0;
  const std::string &where;
};

static void putSpan(char *to, size_t index, uint64_t place, uint64_t size) {
  Span span{place, size};
  std::memcpy(to + index * sizeof(span), &span, sizeof(span));
}

/// Byte arrays, each after its length, or all of one length.
class ByteArrayDecoder : public ValueDecoder {
public:
  ByteArrayDecoder(const PageValues &page, ByteStore &store)
      : bytes(page.bytes), width(static_cast<uint64_t>(page.leaf.width)),
        where(page.where), place(store.add(page.bytes)) {}

  void read(size_t count, char *to) override {
    for (size_t i = 0; i < count; ++i) {
      uint64_t size = width;
      if (width == 0)
        size = takeSize();
      if (size > bytes.size() - position)
        throw truncated(where);
      putSpan(to, i, place + position, size);
      position += size;
    }
  }

private:
  uint32_t takeSize() {
    uint32_t size;
    if (bytes.size() - position < sizeof(size))
      throw truncated(where);
    std::memcpy(&size, bytes.data() + position, sizeof(size));
    position += sizeof(size);
    return size;
  }

  std::string_view bytes;
  uint64_t width, position = 0;
  const std::string &where;
  uint64_t place;
};

//===----------------------------------------------------------------------===//
// Other encodings
//===----------------------------------------------------------------------===//

class DictionaryDecoder : public ValueDecoder {
public:
  DictionaryDecoder(const PageValues &page, size_t size)
      : dictionary(*page.dictionary), size(size), where(page.where) {
    // The bits of an index come first.
    if (page.bytes.empty())
      return;
    constexpr int mostBits = 32;
    int bits = static_cast<uint8_t>(page.bytes.front());
    if (bits > mostBits)
      throw damaged(where, "the indices of a dictionary are damaged");
    runs = RunDecoder(page.bytes.substr(1), bits);
  }

  void read(size_t count, char *to) override {
    indices.resize(count);
    runs.read(indices.data(), count, where);
    for (uint32_t index : indices) {
      if (index >= dictionary.count)
        throw damaged(where, "a value lies outside of its dictionary");
      std::memcpy(to, dictionary.values.data() + index * size, size);
      to += size;
    }
  }

private:
  const Dictionary &dictionary;
  size_t size;
  const std::string &where;
  RunDecoder runs;
  std::vector<uint32_t> indices;
};

/// Booleans as runs, behind the size of all of them.
class BooleanRunDecoder : public ValueDecoder {
public:
  BooleanRunDecoder(std::string_view bytes, const std::string &where)
      : where(where) {
    if (bytes.size() < sizeof(uint32_t))
      throw truncated(where);
    runs = RunDecoder(bytes.substr(sizeof(uint32_t)), 1);
  }

  void read(size_t count, char *to) override {
    values.resize(count);
    runs.read(values.data(), count, where);
    std::copy(values.begin(), values.end(), to);
  }

private:
  const std::string &where;
  RunDecoder runs;
  std::vector<uint32_t> values;
};

/// All first bytes of the values, then all second ones, and so on.
class SplitDecoder : public ValueDecoder {
public:
  SplitDecoder(std::string_view bytes, size_t width, const std::string &where)
      : bytes(bytes), width(width), total(bytes.size() / width), where(where) {}

  void read(size_t count, char *to) override {
    if (count > total - done)
      throw truncated(where);
    for (size_t byte = 0; byte < width; ++byte)
      for (size_t i = 0; i < count; ++i)
        to[i * width + byte] = bytes[byte * total + done + i];
    done += count;
  }

private:
  std::string_view bytes;
  size_t width, total, done = 0;
  const std::string &where;
};

/// Byte arrays of one length, split in the same way.
class SplitByteArrayDecoder : public ValueDecoder {
public:
  SplitByteArrayDecoder(const PageValues &page, ByteStore &store)
      : width(static_cast<size_t>(page.leaf.width)),
        values(page.bytes, width, page.where), store(store) {}

  void read(size_t count, char *to) override {
    joined.resize(count * width);
    values.read(count, joined.data());
    uint64_t place = store.add(joined);
    for (size_t i = 0; i < count; ++i)
      putSpan(to, i, place + i * width, width);
  }

private:
  size_t width;
  SplitDecoder values;
  ByteStore &store;
  std::string joined;
};

class DeltaValueDecoder : public ValueDecoder {
public:
  DeltaValueDecoder(std::string_view bytes, size_t width,
                    const std::string &where)
      : deltas(bytes, where), width(width) {}

  void read(size_t count, char *to) override {
    for (size_t i = 0; i < count; ++i) {
      uint64_t value = deltas.next();
      std::memcpy(to + i * width, &value, width);
    }
  }

private:
  DeltaDecoder deltas;
  size_t width;
};

/// Reads lengths from the bytes of a page, and removes them.
std::vector<uint32_t> takeLengths(std::string_view &bytes, uint64_t most,
                                  const std::string &where) {
  DeltaDecoder deltas(bytes, where);
  // Memory is taken as lengths are read, whose number a page bounds.
  std::vector<uint32_t> lengths;
  for (uint64_t i = 0, count = std::min(deltas.getCount(), most); i < count;
       ++i) {
    uint64_t length = deltas.next();
    if (length > INT32_MAX)
      throw damaged(where, "a length is damaged");
    lengths.push_back(static_cast<uint32_t>(length));
  }
  bytes = deltas.finish();
  return lengths;
}

/// Byte arrays after all of their lengths; with prefixes, each begins with
/// bytes of the one before.
class LengthDecoder : public ValueDecoder {
public:
  LengthDecoder(const PageValues &page, ByteStore &store, bool hasPrefixes)
      : where(page.where), store(store) {
    std::string_view bytes = page.bytes;
    if (hasPrefixes)
      prefixes = takeLengths(bytes, page.count, where);
    lengths = takeLengths(bytes, page.count, where);
    if (hasPrefixes && prefixes.size() != lengths.size())
      throw damaged(where, "the lengths of a page do not match");
    rest = bytes;
    if (!hasPrefixes)
      place = store.add(rest);
  }

  void read(size_t count, char *to) override {
    for (size_t i = 0; i < count; ++i, ++next) {
      if (next == lengths.size() || lengths[next] > rest.size())
        throw truncated(where);
      std::string_view own = rest.substr(0, lengths[next]);
      rest.remove_prefix(own.size());
      if (prefixes.empty()) {
        putSpan(to, i, place, own.size());
        place += own.size();
        continue;
      }
      if (prefixes[next] > last.size())
        throw damaged(where, "a value begins with more than the one before");
      last.resize(prefixes[next]);
      last += own;
      putSpan(to, i, store.add(last), last.size());
    }
  }

private:
  const std::string &where;
  ByteStore &store;
  std::vector<uint32_t> prefixes, lengths;
  std::string_view rest;
  uint64_t place = 0;
  size_t next = 0;
  std::string last;
};

} // namespace

size_t parquet::getValueSize(const Leaf &leaf) {
  return leaf.isBytes ? sizeof(Span) : static_cast<size_t>(leaf.width);
}

std::unique_ptr<ValueDecoder> parquet::decodeValues(const PageValues &page,
                                                    ByteStore &store) {
  const Leaf &leaf = page.leaf;
  size_t width = static_cast<size_t>(leaf.width);
  bool isInteger = leaf.type == Physical::Int32 || leaf.type == Physical::Int64;
  bool isBoolean = leaf.type == Physical::Boolean;
  switch (page.encoding) {
  case Encoding::Plain:
    if (leaf.isBytes)
      return std::make_unique<ByteArrayDecoder>(page, store);
    if (isBoolean)
      return std::make_unique<BitDecoder>(page.bytes, page.where);
    return std::make_unique<PlainDecoder>(page.bytes, width, page.where);
  case Encoding::PlainDictionary:
  case Encoding::RleDictionary:
    if (!page.dictionary)
      throw damaged(page.where, "a page lacks its dictionary");
    return std::make_unique<DictionaryDecoder>(page, getValueSize(leaf));
  case Encoding::Rle:
    if (isBoolean)
      return std::make_unique<BooleanRunDecoder>(page.bytes, page.where);
    break;
  case Encoding::DeltaBinaryPacked:
    if (isInteger)
      return std::make_unique<DeltaValueDecoder>(page.bytes, width, page.where);
    break;
  case Encoding::DeltaLengthByteArray:
  case Encoding::DeltaByteArray:
    if (leaf.isBytes)
      return std::make_unique<LengthDecoder>(
          page, store, page.encoding == Encoding::DeltaByteArray);
    break;
  case Encoding::ByteStreamSplit:
    if (leaf.isBytes && width != 0)
      return std::make_unique<SplitByteArrayDecoder>(page, store);
    if (!leaf.isBytes && !isBoolean)
      return std::make_unique<SplitDecoder>(page.bytes, width, page.where);
    break;
  case Encoding::BitPacked:
    break;
  }
  throw unsupported(page.where, "the encoding " +
                                    std::to_string(int(page.encoding)) +
                                    " of values of this type is not supported");
}
