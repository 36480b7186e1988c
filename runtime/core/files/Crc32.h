// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The checksum of zip and gzip, which checkpoints have, too: CRC-32 by
// carry-less products where the CPU has them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_FILES_CRC32_H
#define INGOT_RUNTIME_CORE_FILES_CRC32_H

#include <cstdint>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// Returns the checksum of `bytes`; of what `crc` is the checksum of followed
/// by `bytes`, if it is given.
uint32_t computeCrc32(std::string_view bytes, uint32_t crc = 0);

/// An implementation of computeCrc32().
struct Crc32Build {
  const char *name;
  uint32_t (*compute)(std::string_view bytes, uint32_t crc);
};

/// Returns the implementations that this CPU runs, the fastest first. The last
/// one runs on all CPUs.
std::vector<Crc32Build> getCrc32Builds();

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_FILES_CRC32_H
