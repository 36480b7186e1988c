// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/readers/parquet/Pages.h"

#include "runtime/core/files/Crc32.h"
#include "runtime/data/readers/parquet/Thrift.h"
#include "runtime/data/unpacking/Blocks.h"
#include "runtime/data/unpacking/Gzip.h"
#include "runtime/data/unpacking/Zstd.h"

#include <bit>
#include <cstring>

using namespace ingot::runtime;
using namespace ingot::runtime::parquet;

/// The kinds of pages, by their numbers in files.
enum PageKind { kFirstFormat = 0, kDictionary = 2, kSecondFormat = 3 };

struct PageReader::Header {
  int64_t kind = -1, size = -1, packedSize = -1;
  std::optional<int64_t> checksum;
  int64_t count = -1, encoding = -1;
  int64_t definitionEncoding = 3, repetitionEncoding = 3;
  /// Fields of the second format of pages.
  int64_t definitionSize = 0, repetitionSize = 0;
  bool isCompressed = true;
};

PageReader::Header PageReader::readHeader() {
  Header header;
  ThriftReader reader(bytes, where);
  auto readNumbers = [&](std::initializer_list<int64_t *> numbers) {
    reader.readStruct([&](int16_t field) {
      if (field == 7) {
        header.isCompressed = reader.readBool();
        return true;
      }
      if (field < 1 || static_cast<size_t>(field) > numbers.size())
        return false;
      int64_t *number = numbers.begin()[field - 1];
      if (number)
        *number = reader.readInteger();
      return number != nullptr;
    });
  };
  reader.readStruct([&](int16_t field) {
    switch (field) {
    case 1:
      header.kind = reader.readInteger();
      return true;
    case 2:
      header.size = reader.readInteger();
      return true;
    case 3:
      header.packedSize = reader.readInteger();
      return true;
    case 4:
      header.checksum = reader.readInteger();
      return true;
    case 5:
      readNumbers({&header.count, &header.encoding, &header.definitionEncoding,
                   &header.repetitionEncoding});
      return true;
    case 7:
      readNumbers({&header.count, &header.encoding});
      return true;
    case 8:
      readNumbers({&header.count, nullptr, nullptr, &header.encoding,
                   &header.definitionSize, &header.repetitionSize});
      return true;
    default:
      return false;
    }
  });
  bytes = reader.getRest();
  if (header.size < 0 || header.size > INT32_MAX || header.packedSize < 0 ||
      static_cast<uint64_t>(header.packedSize) > bytes.size())
    throw damaged(where, "a page lies outside of its column");
  return header;
}

std::string_view PageReader::takeBody(const Header &header) {
  std::string_view body =
      bytes.substr(0, static_cast<size_t>(header.packedSize));
  if (header.checksum &&
      static_cast<uint32_t>(*header.checksum) != computeCrc32(body))
    throw damaged(where, "the checksum of a page does not match");
  return body;
}

std::string_view PageReader::decompress(std::string_view packed, int64_t size,
                                        Codec codec) {
  if (codec == Codec::None) {
    if (packed.size() != static_cast<size_t>(size))
      throw damaged(where, "a page has another size than is said");
    return packed;
  }
  // Before memory is taken.
  constexpr uint64_t free = uint64_t(1) << 26;
  if (static_cast<uint64_t>(size) > packed.size() * kMostRatio + free)
    throw damaged(where, "a page has another size than is said");
  budget.take(static_cast<uint64_t>(size), where);
  content.resize(static_cast<size_t>(size));
  if (size == 0)
    return content;
  switch (codec) {
  case Codec::Snappy:
    unpackSnappy(packed, content.data(), content.size(), where);
    break;
  case Codec::Gzip:
    gunzipBlock(packed, content.data(), content.size(), where);
    break;
  case Codec::Zstd:
    decompressBlock(packed, content.data(), content.size(), where);
    break;
  case Codec::Lz4:
    unpackLz4(packed, content.data(), content.size(), where);
    break;
  default:
    throw unsupported(where, std::string("pages are compressed with ") +
                                 (codec == Codec::Brotli ? "Brotli"
                                  : codec == Codec::Lzo  ? "LZO"
                                                         : "Hadoop's LZ4") +
                                 ", which is not supported");
  }
  return content;
}

void PageReader::readDictionary(const Header &header) {
  if (hasDictionary || header.count < 0 ||
      (header.encoding != int(Encoding::Plain) &&
       header.encoding != int(Encoding::PlainDictionary)))
    throw damaged(where, "the dictionary of a column is damaged");
  std::string_view body =
      decompress(takeBody(header), header.size, chunk.codec);
  // Each value has a bit at least, so that memory is bounded by the page.
  uint64_t count = static_cast<uint64_t>(header.count);
  if (count > 8 * static_cast<uint64_t>(body.size()))
    throw damaged(where, "the dictionary of a column is damaged");
  budget.take(count * getValueSize(leaf), where);
  PageValues values{leaf, Encoding::Plain, count, body, nullptr, where};
  dictionary.values.resize(count * getValueSize(leaf));
  dictionary.count = count;
  decodeValues(values, store)->read(count, dictionary.values.data());
  hasDictionary = true;
}

RunDecoder PageReader::takeLevels(std::string_view &body, int most,
                                  int64_t encoding) {
  if (most == 0)
    return {};
  if (encoding != int(Encoding::Rle))
    throw unsupported(where, "levels that are not runs are not supported");
  uint32_t size = 0;
  if (body.size() < sizeof(size))
    throw damaged(where, "a page is truncated");
  std::memcpy(&size, body.data(), sizeof(size));
  body.remove_prefix(sizeof(size));
  if (size > body.size())
    throw damaged(where, "a page is truncated");
  RunDecoder levels(body.substr(0, size),
                    std::bit_width(static_cast<unsigned>(most)));
  body.remove_prefix(size);
  return levels;
}

void PageReader::readFirstFormat(const Header &header, Page &page) {
  std::string_view body =
      decompress(takeBody(header), header.size, chunk.codec);
  page.repetitions = takeLevels(body, static_cast<int>(leaf.lists.size()),
                                header.repetitionEncoding);
  page.definitions =
      takeLevels(body, leaf.definition, header.definitionEncoding);
  page.values = body;
}

void PageReader::readSecondFormat(const Header &header, Page &page) {
  std::string_view body = takeBody(header);
  auto takeRuns = [&](int64_t size, int most) {
    if (size < 0 || static_cast<uint64_t>(size) > body.size())
      throw damaged(where, "a page is truncated");
    RunDecoder levels(body.substr(0, static_cast<size_t>(size)),
                      std::bit_width(static_cast<unsigned>(most)));
    body.remove_prefix(static_cast<size_t>(size));
    return levels;
  };
  page.repetitions =
      takeRuns(header.repetitionSize, static_cast<int>(leaf.lists.size()));
  page.definitions = takeRuns(header.definitionSize, leaf.definition);
  int64_t levels = header.repetitionSize + header.definitionSize;
  if (header.size < levels)
    throw damaged(where, "a page has another size than is said");
  page.values = decompress(body, header.size - levels,
                           header.isCompressed ? chunk.codec : Codec::None);
}

bool PageReader::next(Page &page) {
  while (taken < chunk.values) {
    Header header = readHeader();
    bool isData = header.kind == kFirstFormat || header.kind == kSecondFormat;
    if (isData && (header.count < 0 || header.count > chunk.values - taken))
      throw damaged(where, "a page has more values than its column");
    if (header.kind == kDictionary)
      readDictionary(header);
    else if (header.kind == kFirstFormat && header.count != 0)
      readFirstFormat(header, page);
    else if (header.kind == kSecondFormat && header.count != 0)
      readSecondFormat(header, page);
    bytes.remove_prefix(static_cast<size_t>(header.packedSize));
    if (!isData || header.count == 0)
      continue;
    if (header.encoding < 0 || header.encoding > int(Encoding::ByteStreamSplit))
      throw damaged(where, "the encoding of a page is damaged");
    page.count = static_cast<uint64_t>(header.count);
    page.encoding = static_cast<Encoding>(header.encoding);
    taken += header.count;
    return true;
  }
  return false;
}
