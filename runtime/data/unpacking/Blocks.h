// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Blocks of a known size in Snappy's format and in LZ4's, as Parquet has them.
// Both are a list of literal bytes and of copies of what was unpacked before.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_UNPACKING_BLOCKS_H
#define INGOT_RUNTIME_DATA_UNPACKING_BLOCKS_H

#include <cstddef>
#include <string>
#include <string_view>

namespace ingot::runtime {

/// Unpacks a block of Snappy's raw format, without frames. Throws badInput.
void unpackSnappy(std::string_view bytes, char *to, size_t size,
                  const std::string &where);

/// Unpacks a block of LZ4, without frames. Throws badInput.
void unpackLz4(std::string_view bytes, char *to, size_t size,
               const std::string &where);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_UNPACKING_BLOCKS_H
