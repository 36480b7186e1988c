// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Files compressed with gzip, as .tar.gz.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_UNPACKING_GZIP_H
#define INGOT_RUNTIME_DATA_UNPACKING_GZIP_H

#include "runtime/core/File.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace ingot::runtime {

/// Whether the bytes begin like a gzip member.
bool isGzip(std::string_view bytes);

/// Returns the content of all members of a file, under the same path and as
/// `decompress` of zstd does. Throws badInput.
MappedFile gunzip(MappedFile file);

/// Decompresses one block of a known size, with gzip's or zlib's header. Throws
/// badInput.
void gunzipBlock(std::string_view bytes, char *to, size_t size,
                 const std::string &where);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_UNPACKING_GZIP_H
