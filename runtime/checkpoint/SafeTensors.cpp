// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The safetensors format.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/SafeTensors.h"

#include "runtime/core/Error.h"
#include "runtime/core/files/Crc32.h"
#include "runtime/core/libraries/JsonLibrary.h"
#include "runtime/core/text/BoundedJson.h"

#include <algorithm>
#include <functional>
#include <numeric>

using namespace ingot::runtime;
using nlohmann::json;

static constexpr uint64_t maxHeader = 100'000'000;

static Error malformed(const std::string &where, const std::string &what) {
  return badInput(where, what, "write the file again with safetensors");
}

static uint64_t readSize(std::string_view bytes) {
  uint64_t size = 0;
  for (int i = 7; i >= 0; --i)
    size = size << 8 | static_cast<uint8_t>(bytes[i]);
  return size;
}

namespace {

/// An entry of the header as it is written.
struct HeaderEntry {
  std::optional<std::string> dtype;
  std::optional<std::vector<uint64_t>> shape, offsets;
  bool isMalformed = false;
};

class HeaderReader : public JsonReader {
public:
  using Take =
      std::function<void(const std::string &name, const HeaderEntry &entry)>;
  HeaderReader(const std::string &where, SafeTensors &content, Take take)
      : JsonReader(where, "the header is not a JSON object",
                   "write the file again with safetensors"),
        content(content), take(std::move(take)) {}

  /// Whether there was an object.
  bool isObject = false;

private:
  bool isMetadata() const { return name == "__metadata__"; }

  void begin(bool object) override {
    switch (getDepth()) {
    case 1:
      isObject = object;
      break;
    case 2:
      entry = {};
      entry.isMalformed = !object;
      if (isMetadata() && !object)
        fail("the metadata is not a JSON object");
      break;
    default:
      // What else there is, is nobody's business.
      if (isMetadata() || (field != "shape" && field != "data_offsets"))
        break;
      entry.isMalformed |= object || getDepth() > 3;
      numbers =
          field == "shape" ? &entry.shape.emplace() : &entry.offsets.emplace();
    }
  }

  void end(bool object) override {
    if (getDepth() == 2 && !isMetadata())
      take(name, entry);
    if (getDepth() == 3)
      numbers = nullptr;
  }

  void addKey(const std::string &key) override {
    if (getDepth() == 1)
      name = key;
    if (getDepth() == 2)
      field = key;
  }

  void addScalar(json value) override {
    constexpr size_t mostDimensions = 64;
    if (getDepth() == 1) {
      entry = {};
      entry.isMalformed = true;
      if (isMetadata())
        fail("the metadata is not a JSON object");
      if (isObject)
        take(name, entry);
    } else if (getDepth() == 2 && isMetadata() && value.is_string()) {
      content.metadata[field] = value.get<std::string>();
    } else if (getDepth() == 2 && field == "dtype" && value.is_string()) {
      entry.dtype = value.get<std::string>();
    } else if (numbers) {
      if (value.is_number_unsigned() && numbers->size() < mostDimensions)
        numbers->push_back(value.get<uint64_t>());
      else
        entry.isMalformed = true;
    }
  }

  SafeTensors &content;
  Take take;
  std::string name, field;
  HeaderEntry entry;
  std::vector<uint64_t> *numbers = nullptr;
};

} // namespace

/// Reads one entry of the header; `begin` is where its data starts.
static TensorView readTensor(const HeaderEntry &entry, std::string_view data,
                             const std::string &where, uint64_t &begin) {
  if (entry.isMalformed || !entry.dtype || !entry.shape || !entry.offsets ||
      entry.offsets->size() != 2)
    throw malformed(where, "the header's entry is malformed");
  TensorView tensor;
  std::optional<DType> type = parseSafeTensorsDType(*entry.dtype);
  if (!type)
    throw badInput(where,
                   "element type '" + *entry.dtype + "' is not supported",
                   "convert the tensor to a common type");
  tensor.dtype = *type;
  uint64_t bytes = static_cast<uint64_t>(getSize(*type));
  for (uint64_t extent : *entry.shape) {
    if (extent > uint64_t(INT64_MAX) ||
        __builtin_mul_overflow(bytes, extent, &bytes))
      throw malformed(where, "the shape overflows");
    tensor.shape.push_back(static_cast<int64_t>(extent));
  }
  begin = (*entry.offsets)[0];
  uint64_t end = (*entry.offsets)[1];
  if (begin > end || end > data.size())
    throw malformed(where, "the data is outside the file");
  if (end - begin != bytes)
    throw malformed(where, "the data's size does not match the shape");
  tensor.data = data.substr(begin, bytes);
  return tensor;
}

SafeTensors ingot::runtime::readSafeTensors(std::string_view bytes,
                                            const std::string &where) {
  if (bytes.size() < 8)
    throw malformed(where, "the file is truncated");
  uint64_t headerSize = readSize(bytes);
  bytes.remove_prefix(8);
  if (headerSize > maxHeader)
    throw malformed(where, "the header is larger than 100,000,000 bytes");
  if (headerSize > bytes.size())
    throw malformed(where, "the file is truncated");
  std::string_view data = bytes.substr(headerSize);

  SafeTensors content;
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  HeaderReader header(
      where, content, [&](const std::string &name, const HeaderEntry &entry) {
        uint64_t begin = 0;
        TensorView tensor = readTensor(entry, data, where + ": " + name, begin);
        ranges.push_back({begin, begin + tensor.data.size()});
        content.tensors[name] = std::move(tensor);
      });
  header.read(bytes.substr(0, headerSize));
  if (!header.isObject)
    throw malformed(where, "the header is not a JSON object");
  std::sort(ranges.begin(), ranges.end());
  uint64_t covered = 0;
  for (auto [begin, end] : ranges) {
    if (begin != covered)
      throw malformed(where, begin < covered ? "tensors overlap"
                                             : "there is a hole in the data");
    covered = end;
  }
  if (covered != data.size())
    throw malformed(where, "there is data that no tensor has");
  return content;
}

int64_t TensorView::getBytes() const {
  return std::accumulate(shape.begin(), shape.end(), getSize(dtype),
                         std::multiplies<>());
}

uint32_t ingot::runtime::writeSafeTensors(AtomicFile &file,
                                          const SafeTensors &content,
                                          const TensorOrder &places) {
  // Wide types come first, so that every tensor is aligned to its elements.
  std::vector<const std::pair<const std::string, TensorView> *> order;
  for (const std::string &name : places.first)
    order.push_back(&*content.tensors.find(name));
  for (const auto &item : content.tensors)
    if (std::find(places.first.begin(), places.first.end(), item.first) ==
        places.first.end())
      order.push_back(&item);
  auto others = static_cast<std::ptrdiff_t>(places.first.size());
  std::sort(order.begin() + others, order.end(), [](auto *a, auto *b) {
    return std::pair(-getSize(a->second.dtype), std::string_view(a->first)) <
           std::pair(-getSize(b->second.dtype), std::string_view(b->first));
  });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!content.metadata.empty())
    header["__metadata__"] = content.metadata;
  uint64_t offset = 0;
  for (const auto *item : order) {
    const TensorView &tensor = item->second;
    header[item->first] = {
        {"dtype", getSafeTensorsName(tensor.dtype)},
        {"shape", tensor.shape},
        {"data_offsets", {offset, offset + tensor.getBytes()}}};
    offset += tensor.getBytes();
  }
  std::string text =
      header.dump(-1, ' ', false, json::error_handler_t::replace);
  constexpr size_t sizeBytes = 8;
  size_t rest = (sizeBytes + text.size()) % places.alignment;
  text.append(rest == 0 ? 0 : places.alignment - rest, ' ');
  std::string size(sizeBytes, '\0');
  for (int i = 0; i < 8; ++i)
    size[i] = static_cast<char>(static_cast<uint64_t>(text.size()) >> (8 * i));
  uint32_t crc = 0;
  // The checksum is computed of what is in the cache anyway.
  auto write = [&](std::string_view bytes) {
    constexpr size_t most = size_t(1) << 18;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(most, bytes.size()))) {
      std::string_view part = bytes.substr(0, most);
      crc = computeCrc32(part, crc);
      file.write(part);
    }
  };
  write(size);
  write(text);
  for (const auto *item : order) {
    const TensorView &tensor = item->second;
    if (tensor.pieces)
      tensor.pieces(write);
    else
      write(tensor.data);
  }
  return crc;
}
