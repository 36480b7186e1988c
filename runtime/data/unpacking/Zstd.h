// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Files compressed with zstd.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_UNPACKING_ZSTD_H
#define INGOT_RUNTIME_DATA_UNPACKING_ZSTD_H

#include "runtime/core/File.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace ingot::runtime {

/// Whether the bytes begin like a zstd frame.
bool isZstd(std::string_view bytes);

/// Returns the content of a compressed file, under the same path. It lies in a
/// nameless file in $TMPDIR, so that the system can drop its pages from memory
/// and the space is free when the trainer ends. Throws badInput for a file that
/// is damaged, or is more than kMostRatio times as large when decompressed.
MappedFile decompress(MappedFile file);

/// Decompresses one block of a known size. Throws badInput.
void decompressBlock(std::string_view bytes, char *to, size_t size,
                     const std::string &where);

/// A bound on the content of a file, as a multiple of its compressed size.
inline constexpr uint64_t kMostRatio = 1024;

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_UNPACKING_ZSTD_H
