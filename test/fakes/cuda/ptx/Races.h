// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Finds accesses of one kernel to the same memory that nothing orders: of two
// blocks, or of two warps of a block without a barrier between them, one of
// which writes; and writes to memory that the kernel reads as constant
// (ld.global.nc).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_PTX_RACES_H
#define INGOT_TEST_FAKES_CUDA_PTX_RACES_H

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

namespace fakes::ptx {

class Races {
public:
  enum Access { Read, ReadConstant, Write };

  /// Who accesses memory: nothing orders two of one block and epoch but of
  /// different warps, nor two of different blocks.
  struct Who {
    uint32_t block = 0, warp = 0, epoch = 0;
    bool isOrdered(const Who &other) const {
      return block == other.block &&
             (warp == other.warp || epoch != other.epoch);
    }
  };

  /// Returns what is wrong, or "".
  std::string add(uint64_t address, uint32_t bytes, const Who &who,
                  Access access) {
    for (uint64_t at = address; at < address + bytes; ++at)
      if (std::string found = addByte(at, who, access); !found.empty())
        return found;
    return "";
  }

private:
  static constexpr uint64_t page = 4096;
  /// A byte.
  struct Unit {
    Who writer, reader;
    bool isWritten = false, isRead = false, isConstant = false;
    /// Whether others than `reader` have read since the last write: warps of
    /// its block in its epoch, or other blocks.
    bool inOtherWarps = false, inOtherBlocks = false;
  };
  struct Page {
    Unit units[page];
  };

  std::string addByte(uint64_t address, const Who &who, Access access) {
    std::unique_ptr<Page> &place = pages[address / page];
    if (!place)
      place = std::make_unique<Page>();
    Unit &unit = place->units[address % page];
    if (unit.isWritten && !unit.writer.isOrdered(who))
      return "is written by another warp, and no barrier is between them";
    if (access == Write) {
      if (unit.isConstant)
        return "is read as constant by the kernel that writes it";
      bool isInEpoch = unit.reader.epoch == who.epoch;
      if (unit.isRead && (unit.inOtherBlocks || !unit.reader.isOrdered(who) ||
                          (isInEpoch && unit.inOtherWarps)))
        return "is read by another warp, and no barrier is between them";
      unit.writer = who;
      unit.isWritten = true;
      unit.isRead = unit.inOtherWarps = false;
      return "";
    }
    if (access == ReadConstant && unit.isWritten)
      return "is read as constant by the kernel that writes it";
    unit.isConstant |= access == ReadConstant;
    if (unit.isRead && unit.reader.block != who.block) {
      unit.inOtherBlocks = true;
    } else if (unit.isRead && unit.reader.epoch == who.epoch) {
      unit.inOtherWarps |= unit.reader.warp != who.warp;
    } else {
      unit.reader = who;
      unit.inOtherWarps = false;
    }
    unit.isRead = true;
    return "";
  }

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
};

} // namespace fakes::ptx

#endif // INGOT_TEST_FAKES_CUDA_PTX_RACES_H
