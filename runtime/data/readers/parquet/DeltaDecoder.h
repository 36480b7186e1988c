// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Integers as differences, packed by bits in blocks: DELTA_BINARY_PACKED.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_READERS_PARQUET_DELTADECODER_H
#define INGOT_RUNTIME_DATA_READERS_PARQUET_DELTADECODER_H

#include <cstdint>
#include <string>
#include <string_view>

namespace ingot::runtime::parquet {

/// Removes a number from the bytes, seven bits a byte. Throws badInput.
uint64_t takeVarint(std::string_view &bytes, const std::string &where);

/// Returns the number of at most 64 bits at a bit, and moves behind it. Throws
/// badInput if it reaches beyond the bytes.
uint64_t takeBits(std::string_view bytes, uint64_t &position, int bits,
                  const std::string &where);

class DeltaDecoder {
public:
  /// Reads the head of the blocks. Throws badInput.
  DeltaDecoder(std::string_view bytes, const std::string &where);

  /// How many integers there are.
  uint64_t getCount() const { return count; }
  /// Returns the next one, modulo 2^64. Throws badInput if there is none.
  uint64_t next();
  /// Returns what follows the blocks, all of whose integers have been read.
  std::string_view finish() const { return bytes; }

private:
  void enterBlock();
  void enterPart();

  std::string_view bytes;
  const std::string &where;
  /// The integers of a part of a block, and the parts of a block.
  uint64_t partSize = 0, parts = 0;
  uint64_t count = 0, taken = 0, value = 0;
  uint64_t least = 0;
  /// The bits of the parts of the block, and which part is next.
  std::string_view widths;
  uint64_t part = 0;
  /// The state of a part that is being read.
  std::string_view packed;
  uint64_t position = 0, left = 0;
  int bits = 0;
};

} // namespace ingot::runtime::parquet

#endif // INGOT_RUNTIME_DATA_READERS_PARQUET_DELTADECODER_H
