// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The file of an adapter that ONNX Runtime loads (LoraAdapter::Load), a
// flatbuffer: tables say in a table of their own where their fields are, and
// offsets lead to what lies behind them.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/trainer/adapters/SlotModel.h"

#include <cstring>

using namespace ingot::runtime;

namespace {

class FlatBuffer {
public:
  void addShort(uint16_t value) { add(&value, sizeof(value)); }
  void addInt(uint32_t value) { add(&value, sizeof(value)); }
  void addBytes(std::string_view value) { bytes += value; }
  /// Adds zeros up to where an element of this alignment may be, `behind` bytes
  /// further on.
  void align(size_t alignment, size_t behind = 0) {
    while ((bytes.size() + behind) % alignment != 0)
      bytes += '\0';
  }
  size_t getSize() const { return bytes.size(); }
  /// Leaves space for an offset, and returns where it is.
  size_t addOffset() {
    addInt(0);
    return bytes.size() - sizeof(uint32_t);
  }
  /// Lets an offset lead to what comes next.
  void setOffset(size_t at) {
    auto distance = static_cast<uint32_t>(bytes.size() - at);
    std::memcpy(bytes.data() + at, &distance, sizeof(distance));
  }
  const std::string &getBytes() const { return bytes; }

private:
  void add(const void *value, size_t size) {
    bytes.append(static_cast<const char *>(value), size);
  }

  std::string bytes;
};

} // namespace

void ingot::runtime::writeAdapterFormat(const std::string &path,
                                        const std::vector<Slot> &slots) {
  constexpr uint16_t fields = 4, size = sizeof(uint32_t);
  constexpr size_t limit = 1u << 31;
  size_t total = 0;
  for (const Slot &slot : slots)
    total += slot.data.size() + slot.name.size() + 128;
  if (total >= limit)
    throw failure(path, "an adapter of 2 GiB or more",
                  "the format of ONNX Runtime has offsets of 31 bits: train "
                  "adapters of fewer layers or a lower rank");
  FlatBuffer file;
  size_t root = file.addOffset();
  file.addBytes("TORT");
  // All tables have four fields of four bytes.
  size_t layout = file.getSize();
  file.addShort((2 + fields) * sizeof(uint16_t));
  file.addShort((1 + fields) * size);
  for (uint16_t i = 0; i < fields; ++i)
    file.addShort((1 + i) * size);
  auto beginTable = [&] {
    file.addInt(static_cast<uint32_t>(file.getSize() - layout));
  };
  file.setOffset(root);
  beginTable();
  // The versions of the format, of the adapter and of the model.
  for (int i = 0; i < 3; ++i)
    file.addInt(1);
  size_t list = file.addOffset();
  file.setOffset(list);
  file.addInt(static_cast<uint32_t>(slots.size()));
  std::vector<size_t> entries;
  for (size_t i = 0; i < slots.size(); ++i)
    entries.push_back(file.addOffset());
  for (size_t i = 0; i < slots.size(); ++i) {
    const Slot &slot = slots[i];
    file.align(size);
    file.setOffset(entries[i]);
    beginTable();
    size_t name = file.addOffset(), dims = file.addOffset();
    file.addInt(getOnnxType(slot.dtype));
    size_t data = file.addOffset();
    file.setOffset(name);
    file.addInt(static_cast<uint32_t>(slot.name.size()));
    file.addBytes(slot.name + '\0');
    file.align(sizeof(int64_t), size);
    file.setOffset(dims);
    file.addInt(static_cast<uint32_t>(slot.shape.size()));
    for (int64_t dim : slot.shape)
      file.addBytes({reinterpret_cast<const char *>(&dim), sizeof(dim)});
    file.align(sizeof(int64_t), size);
    file.setOffset(data);
    file.addInt(static_cast<uint32_t>(slot.data.size()));
    file.addBytes(slot.data);
  }
  AtomicFile out(path);
  out.write(file.getBytes());
  out.commit();
}
